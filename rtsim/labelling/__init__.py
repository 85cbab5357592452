"""Labelling of markers without names, by the segments of the tracked person or model."""
