"""Benches of the marker methods, on synthetic walkers and recordings."""
