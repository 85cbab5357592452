"""Schemas of runs, devices, laboratories and searches."""
