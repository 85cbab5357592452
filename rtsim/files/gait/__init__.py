"""Gait events and cycles as stored in files."""
