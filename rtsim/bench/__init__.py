"""Benchmarks, separate from the tests: each prints measured results with the machine and the versions of the
software."""
