"""Comparison of the same frames solved for other processors, without the compiler, and in threads:
differences of the results.
"""
