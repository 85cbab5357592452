"""Stages of a run: finding, checking and building them from what each declares."""
