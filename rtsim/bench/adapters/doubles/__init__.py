"""Doubles of capture systems' servers: one module each, named by its scheme and found by folder.

Each has a class `Double` as `rtsim.bench.adapters.double.CaptureDouble` says.
"""
