"""Gait norms: curves over the cycle of healthy persons, or of the persons of a laboratory."""
