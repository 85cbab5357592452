"""Causal filters that estimate coordinates, speeds and accelerations from measured coordinates, one module
for each.

All have one signature, filter(manifold, options, t, q, state, rates_out) -> status. The coordinates, speeds
and accelerations of a filter have the same delay.
"""
