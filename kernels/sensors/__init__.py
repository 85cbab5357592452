"""Comparison of a device's measurements with the angles that a model sent it."""
