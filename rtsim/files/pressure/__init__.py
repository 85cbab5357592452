"""Readers of plantar pressure, and their common result."""
