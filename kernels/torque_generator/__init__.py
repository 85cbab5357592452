"""Muscle torque generators: one torque for the muscles that turn a joint one way, and its fitting."""
