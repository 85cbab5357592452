"""Readers of marker files, and how their axes, units, times and names are understood."""
