"""Gait events and strides as they come, for the window."""
