"""Looking back: what came in the last ten minutes, while more is coming."""
