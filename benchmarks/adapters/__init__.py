"""Benchmarks of capture systems against simulated servers that speak their protocols, as no real system is
available here.
"""
