"""Muscle lengths, moment arms and recruitment."""
