"""Smooth curves of one variable: chains of quintic Bezier corners, straight beyond their ends."""
