"""Benches beside OpenSim."""
