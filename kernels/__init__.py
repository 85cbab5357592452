"""Arithmetic only: compiled functions over arrays, written in place, with integer status out.

Nothing here knows a model's name, a file or a socket. Every entry takes NamedTuples of arrays
(kernels never allocate them) and returns numbers or a status code.
"""
