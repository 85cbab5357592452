"""Limits of marker coordinates in streams and files, beyond which a coordinate is no measurement."""

FARTHEST = 1e9
"""Largest coordinate that is accepted [m]; squares and sums of smaller ones stay finite."""
FILLERS = (9999.0, 99999.0, 999999.0, 9999999.0)
"""Numbers that some systems write, as all three coordinates, for a marker that they do not see, in
whatever unit."""
