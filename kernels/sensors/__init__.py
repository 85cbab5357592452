"""Comparison of a device's measurements with what a model told it."""
