"""Comparison of a device's measured angles with the angles that the model sent to it."""
