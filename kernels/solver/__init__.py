"""The pose of a skeleton from markers: constrained least squares, frame after frame."""
