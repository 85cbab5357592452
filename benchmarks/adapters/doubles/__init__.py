"""Doubles of capture systems' servers: one module each, named by the scheme of the system and found by
folder.

Each has a class `Double` with the interface of `benchmarks.adapters.double.CaptureDouble`.
"""
