"""What people read: the terminal table of a run, and its summary."""
