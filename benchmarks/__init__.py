"""Benchmarks that are not part of an installed rtsim: attacks, servers that simulate capture systems,
damage, other solvers.

`rtsim bench` finds them in a checkout.
"""
