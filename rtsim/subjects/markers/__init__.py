"""Markers by name: their person, their side, and whether they fit the subject."""
