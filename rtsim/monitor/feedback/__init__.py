"""Biofeedback: one chosen value, large, with a target band."""
