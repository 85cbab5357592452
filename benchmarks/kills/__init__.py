"""Benchmark of processes of a laboratory that are killed at random, and of the recordings that remain."""
