"""Reports for people: the terminal table of a run, and its summary."""
