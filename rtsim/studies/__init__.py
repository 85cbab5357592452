"""Studies: one analysis, simulation or fit over many values of any of its keys."""
