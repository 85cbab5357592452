"""Benchmarks beside OpenSim."""
