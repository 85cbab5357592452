"""Biofeedback: a large display of one chosen result, such as an angle, with a target band."""
