"""Causal estimators of coordinates, speeds and accelerations from measured coordinates, one module for each.

All have one signature, estimator(manifold, options, t, q, state, rates_out) -> status, and all three results
have the same delay.
"""
