"""Norms of gait: what healthy persons, or those of a laboratory, have over the cycle."""
