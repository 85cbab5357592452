"""Linear algebra, rotations, spatial vectors, functions of one coordinate, resampling."""
