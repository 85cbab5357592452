"""Tuning of devices: searches that propose settings and receive their costs, costs of cycles, and results."""
