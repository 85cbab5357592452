"""Gait events and cycles as files tell them."""
