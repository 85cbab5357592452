"""Muscle recruitment: activations of muscles that bear the load of a frame at the least cost."""
