"""Compilation of kernels: decorators, groups of arrays passed by reference, and storage of machine code."""
