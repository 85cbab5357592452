"""Wrapping surfaces fixed to bodies: their sizes, and where they are in ground.

SPHERE: radius. CYLINDER: radius, about its own z axis, without end. ELLIPSOID: three half axes.
TORUS: ring radius R about its own z axis and tube radius r < R; paths run through the hole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernels._jit import njit
from kernels.copying import copy_matrix
from kernels.rotation import multiply, rotate
from kernels.tree import point_in_ground

SPHERE, CYLINDER, ELLIPSOID, TORUS = 0, 1, 2, 3


class Surfaces(NamedTuple):
    """Constant description of n_surface wrapping surfaces."""

    kind: np.ndarray  # (n_surface,) int64 - SPHERE, CYLINDER, ELLIPSOID, TORUS
    body: np.ndarray  # (n_surface,) int64 - body that carries it, -1 = ground
    position: np.ndarray  # (n_surface, 3) - centre in the body [m]
    rotation: np.ndarray  # (n_surface, 3, 3) - axes of the surface in the body, as columns
    size: np.ndarray  # (n_surface, 3) - r, -, - | r, -, - | a, b, c | R, r, - [m]


class Placement(NamedTuple):
    """Where the surfaces are in ground; written by `place`."""

    position: np.ndarray  # (n_surface, 3) [m]
    rotation: np.ndarray  # (n_surface, 3, 3) - axes as columns


def new_placement(n_surface: int) -> Placement:
    """Allocate a Placement."""
    return Placement(np.zeros((n_surface, 3)), np.zeros((n_surface, 3, 3)))


@njit
def place(surfaces, pose, placement_out):
    """Frames of all surfaces in ground at a pose of the bodies."""
    for k in range(surfaces.kind.shape[0]):
        b = surfaces.body[k]
        point_in_ground(pose, b, surfaces.position[k], placement_out.position[k])
        if b < 0:
            copy_matrix(surfaces.rotation[k], placement_out.rotation[k])
        else:
            multiply(pose.rotation[b], surfaces.rotation[k], placement_out.rotation[k])


@njit
def into_surface(placement, k, x, y_out):
    """y_out : (3,) - the ground point x : (3,) in the frame of surface k [m]."""
    R, o = placement.rotation[k], placement.position[k]
    dx, dy, dz = x[0] - o[0], x[1] - o[1], x[2] - o[2]
    for i in range(3):
        y_out[i] = R[0, i] * dx + R[1, i] * dy + R[2, i] * dz


@njit
def out_of_surface(placement, k, y, x_out):
    """x_out : (3,) - the point y : (3,) of the frame of surface k, in ground [m]."""
    R, o = placement.rotation[k], placement.position[k]
    for i in range(3):
        x_out[i] = o[i] + R[i, 0] * y[0] + R[i, 1] * y[1] + R[i, 2] * y[2]


@njit
def turn_out_of_surface(placement, k, y, x_out):
    """x_out : (3,) - the direction y : (3,) of the frame of surface k, in ground."""
    rotate(placement.rotation[k], y, x_out)


@njit
def clearance(kind, size, x):
    """Height of x : (3,) in the surface frame above the surface, about, as a part of its size; < 0 inside."""
    if kind == SPHERE:
        return math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / size[0] - 1.0
    if kind == CYLINDER:
        return math.hypot(x[0], x[1]) / size[0] - 1.0
    if kind == ELLIPSOID:
        u, v, w = x[0] / size[0], x[1] / size[1], x[2] / size[2]
        return math.sqrt(u * u + v * v + w * w) - 1.0
    return math.hypot(math.hypot(x[0], x[1]) - size[0], x[2]) / size[1] - 1.0
