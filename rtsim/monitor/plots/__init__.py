"""Scrolling curves of the window."""
