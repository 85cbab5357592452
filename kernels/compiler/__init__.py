"""Compilation of kernels: decorators, groups of arrays by reference, and machine code kept on disk."""
