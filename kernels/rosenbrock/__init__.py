"""Integration of the stiff equations of motion in forward simulation by Rosenbrock methods with a fixed
step.
"""
