"""Capture systems: one module each, found by folder, with a `SYSTEM` that describes how to connect to it."""
