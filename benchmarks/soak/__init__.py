"""Benchmarks of long runs of whole chains: lost and late frames, memory, and the highest sustained rate."""
