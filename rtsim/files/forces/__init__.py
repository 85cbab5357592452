"""Readers of force plates, and their common result."""
