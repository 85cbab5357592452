"""Tuning of devices: searches that propose settings (values of the tuned parameters) and receive their costs,
the cost of a movement cycle, and stored results.
"""
