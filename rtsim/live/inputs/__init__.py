"""Sources of the frames of a run."""
