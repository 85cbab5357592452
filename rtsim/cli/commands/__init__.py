"""The commands of rtsim, one module each, found by their names."""
