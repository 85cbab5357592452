"""Estimation of the pose of a skeleton from markers by constrained least squares, one frame after the
other.
"""
