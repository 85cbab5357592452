"""The journal of a run, by which the run is computed again exactly."""
