"""Faults of source, clock, network and machine against real processes, in a table."""
