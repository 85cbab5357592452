"""Tuning of devices: searches that ask for settings and are told costs, costs of cycles, what they tell."""
