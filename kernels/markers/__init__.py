"""Measured markers: their cost, their health, and positions that are filled in for missing markers."""
