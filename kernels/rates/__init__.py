"""Causal estimates of coordinates, speeds and accelerations from coordinates in time: one file an estimator.

All have one signature, estimator(manifold, options, t, q, state, rates_out) -> status, and write the three
with the same delay.
"""
