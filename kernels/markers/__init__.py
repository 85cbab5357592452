"""Measured markers: their cost, their health, and places that are filled in for missing ones."""
