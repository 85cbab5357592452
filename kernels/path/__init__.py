"""Muscle paths: shortest ways over wrapping surfaces."""
