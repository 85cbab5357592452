"""Figures that are drawn on paper."""
