"""Measured markers in the solver: their cost, the check of each for faults, and filling in of missing
markers.
"""
