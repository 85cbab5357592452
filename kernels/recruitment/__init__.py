"""Muscle recruitment: which muscles bear the load, by a criterion, one frame at a time."""
