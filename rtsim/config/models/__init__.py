"""Schemas of model files and checks across their tables."""
