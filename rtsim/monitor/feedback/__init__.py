"""Biofeedback: a large display of one chosen value, with a target band."""
