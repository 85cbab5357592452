"""Comparison of the angles that a device measures with the angles that the model has sent to it."""
