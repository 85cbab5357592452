"""Readers of plantar pressure, and the record that they hand over."""
