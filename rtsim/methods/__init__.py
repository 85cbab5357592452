"""Methods: one file each, from a built model and a measured frame to a result."""
