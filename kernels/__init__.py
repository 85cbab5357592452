"""Numerical kernels: compiled functions over arrays that write results in place and return a status.

No kernel knows the name of a model, a file or a socket. Every entry takes NamedTuples of arrays (kernels
never allocate them) and returns numbers or a status code.
"""
