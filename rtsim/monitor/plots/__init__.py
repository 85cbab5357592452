"""Scrolling curves of the monitor window."""
