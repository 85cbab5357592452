"""Persons: anatomical landmarks from markers, segments, subject records, and the calibration that creates
them.
"""
