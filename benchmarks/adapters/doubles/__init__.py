"""Doubles of capture systems' servers: one module each, named by its scheme and found by folder.

Each has a class `Double` as `benchmarks.adapters.double.CaptureDouble` says.
"""
