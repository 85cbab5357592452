"""Benchmarks of kernels and simulations, beside other solvers."""
