"""Norms of gait: curves over the cycle of healthy persons, or of the persons of a laboratory."""
