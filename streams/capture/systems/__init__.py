"""Capture systems: one module each, found by folder, whose `SYSTEM` says how a connection to it is opened."""
