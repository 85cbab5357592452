"""Benches that are no part of an installed rtsim: attacks, servers that play capture systems, damage, peers.

`rtsim bench` finds them in a checkout.
"""
