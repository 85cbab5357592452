"""Benchmarks with a device, a model, a stream and a crowd that are hostile to `rtsim hil` and `rtsim
device`.
"""
