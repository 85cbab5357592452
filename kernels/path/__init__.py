"""Muscle paths: shortest lines through points and over wrapping surfaces."""
