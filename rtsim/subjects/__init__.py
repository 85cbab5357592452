"""Persons: anatomical landmarks from markers, segments, subject records, and calibration that makes them."""
