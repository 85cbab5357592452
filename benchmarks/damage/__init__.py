"""Recordings damaged in known ways: what becomes of the angles, and whether the status tells."""
