"""Receiving a stream: checks, sessions, the newest frame."""
