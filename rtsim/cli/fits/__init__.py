"""What `rtsim fit` fits: modules of this folder, found by folder; each has its command as `command`."""
