"""Recorders, players and recordings read back."""
