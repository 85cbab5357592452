"""Markers by name: whose they are, on which side, and whether they fit the subject."""
