"""Rosenbrock integration of stiff equations of motion with a fixed step."""
