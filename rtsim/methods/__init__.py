"""Methods: one file each, from a packed model and a measured frame to a result."""
