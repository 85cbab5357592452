"""Dynamics of the joint tree: velocities, inertia, inverse and forward dynamics, forces of constraints."""
