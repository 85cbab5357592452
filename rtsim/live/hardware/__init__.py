"""Runs with a device in the loop."""
