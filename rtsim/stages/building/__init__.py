"""Stages of a run: search, checks and construction from their declarations."""
