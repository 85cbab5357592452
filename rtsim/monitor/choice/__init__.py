"""The choice of visible panels and curves: by task, by hand, and stored between starts."""
