"""Muscle torque generators: each stands for all muscles that rotate a joint in one direction, as one torque;
and the fit of their parameters.
"""
