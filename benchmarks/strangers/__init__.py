"""Benchmarks of attacks by strangers on the network on a run."""
