"""Readers of surfaces and of landmarks on them."""
