"""Benches of whole runs: latency, start, devices."""
