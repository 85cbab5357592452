"""The commands of rtsim, a module each, found by its name."""
