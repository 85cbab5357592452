"""Muscle torque generators: the muscles that turn a joint one way as one torque, and their fitting."""
