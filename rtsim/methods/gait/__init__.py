"""Gait events that results show, and the cycles between them."""
