"""Synthetic persons: a walker on a treadmill and a jaw."""
