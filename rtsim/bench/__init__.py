"""Timed measurements, apart from the tests: each prints figures with machine and versions."""
