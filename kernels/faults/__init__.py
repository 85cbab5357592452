"""Markers at fault: found, named, and left out."""
