"""Poses from markers, their rates and their deviations."""
