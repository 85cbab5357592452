"""The journal of a run: a log from which the run can be recomputed exactly."""
