"""Markers at fault: how they are found, named and left out."""
