"""Muscle paths: points, wrapping surfaces, lengths, forces and moment arms."""
