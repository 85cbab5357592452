"""Faults of source, clock, network and machine, applied to real processes and listed in a table."""
