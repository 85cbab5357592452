"""Capture systems: each module in this folder is one, with a `SYSTEM` that describes how to connect to it."""
