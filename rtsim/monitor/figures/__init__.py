"""Figures that are saved to files."""
