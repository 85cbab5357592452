"""Benchmark of standard deviations against the truth of synthetic walkers: how often an interval contains
the true value.
"""
