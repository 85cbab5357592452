"""Methods, from a built model and a measured frame to a result; one file each."""
