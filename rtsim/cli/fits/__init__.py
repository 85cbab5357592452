"""Commands of `rtsim fit`: each module of this folder has one as `command`."""
