"""Benches of the marker methods, on made-up walkers and recordings."""
