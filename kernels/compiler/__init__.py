"""Compilation of kernels: decorators, groups of arrays passed by reference, and machine code kept on disk."""
