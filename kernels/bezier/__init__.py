"""Smooth curves of one variable: chains of quintic Bezier corners, with straight lines outside their ends."""
