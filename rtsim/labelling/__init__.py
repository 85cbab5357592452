"""Markers without names, told by the segments of the person or the model that is followed."""
