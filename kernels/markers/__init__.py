"""Measured markers: their cost, their health, and what stands in for those that are missing."""
