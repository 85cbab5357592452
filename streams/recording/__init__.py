"""Recording of streams, playing of recordings as streams, and reading of recordings."""
