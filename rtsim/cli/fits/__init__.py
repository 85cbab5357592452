"""Commands of `rtsim fit`: the modules of this folder, each with its command as `command`."""
