"""Studies: one analysis, simulation or fit repeated for many values of any of its parameters."""
