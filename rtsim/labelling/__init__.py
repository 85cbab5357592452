"""Markers without names, labelled by the segments of the person or the model that is followed."""
