"""Processes of a lab killed at random, and what of a recording is left."""
