"""Tuning of devices: searches that propose settings and receive their costs, the cost of a movement cycle,
and stored results.
"""
