"""Benches of what strangers on the network can do to a run."""
