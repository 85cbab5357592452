"""What is taken for the coordinates of a marker, in streams and in files."""

FARTHEST = 1e9
"""Largest coordinate that is accepted [m]; squares and sums of smaller ones stay finite."""
FILLER = 9999.0
"""This and larger numbers, as all three coordinates, are what some systems write for a marker that they do
not see, in whatever unit."""
