"""Readers of force plates, and the record that they hand over."""
