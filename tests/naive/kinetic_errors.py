"""Results of a cut where bodies are off their courses by twists that go with them: by differences in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.dynamics.system import System
from kernels.joints.joint_angles import JointAxes
from tests.naive import joint_angles
from tests.naive.kinetics import projected
from tests.naive.tree import integrate, state

Array = NDArray[np.floating]

STEP = 2e-3
TIMES = STEP * np.arange(-2, 3)
FIRST = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * STEP)
SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * STEP**2)


def courses(system: System, motion: tuple[Array, Array, Array]) -> Array:
    """Return places (n_time, n_body, 4, 4) of all bodies of a motion q, v, v_dot, about time 0."""
    q, v, v_dot = motion
    return np.array(
        [state(system.tree, integrate(system.tree, q, s * v + 0.5 * s**2 * v_dot)).body for s in TIMES]
    )


def moved(places: Array, twists: Array) -> Array:
    """Return the places where each body is off by a small twist that goes with it, and by the rates of that.

    places : of `courses`
    twists : (3, n_body, 6) - value, speed and acceleration, about ground's origin, as bodies lie at time 0
    """
    off = np.array([np.tensordot([1.0, s, 0.5 * s**2], twists, axes=1) for s in TIMES])
    ground = np.zeros((*off.shape[:2], 4, 4))
    ground[..., :3, :3] = np.cross(off[..., None, :3], np.eye(3)).swapaxes(-1, -2)
    ground[..., :3, 3] = off[..., 3:]
    own = np.linalg.inv(places[2]) @ ground @ places[2]
    return np.asarray(places @ (np.eye(4) + own + 0.5 * own @ own))


def spin(frames: Array) -> tuple[Array, Array]:
    """Return angular velocity and acceleration at time 0, in ground, of frames (n_time, 3, 3)."""
    vectors = Rotation.from_matrix(frames @ frames[2].T).as_rotvec()
    return FIRST @ vectors, SECOND @ vectors


def results(
    system: System, joints: JointAxes, on_proximal: Array, at: Array, wrench: Array, root: int
) -> tuple[Array, Array]:
    """Return moment (4, 3), force (4, 3), angle rates (3,) and powers (2,) of all joints, then the residual,
    in a row; and what crosses the joints of all bodies (n_body, 6), about ground's origin.

    at : (n_time, n_body, 4, 4) - places of the bodies
    """
    bodies, parents, n = system.bodies, system.tree.parent, len(system.tree.parent)
    through = -wrench.astype(float)
    for b in range(n):
        R, x = at[:, b, :3, :3], at[:, b, :3, 3]
        centre = np.einsum("tij,j->ti", R, bodies.centre[b]) + x
        w, w_dot = spin(R)
        own = R[2] @ bodies.inertia[b] @ R[2].T
        force = bodies.mass[b] * (SECOND @ centre - system.gravity)
        through[b, :3] += np.cross(centre[2], force) + own @ w_dot + np.cross(w, own @ w)
        through[b, 3:] += force
    for b in range(n - 1, 0, -1):
        if parents[b] >= 0:
            through[parents[b]] += through[b]
    ground, found = np.broadcast_to(np.eye(4), (len(TIMES), 4, 4)), []
    for j, (p, d) in enumerate(zip(joints.proximal, joints.distal, strict=True)):
        above, below = at[:, p] if p >= 0 else ground, at[:, d]
        carrier, point = (
            (above, joints.point_proximal[j]) if on_proximal[j] else (below, joints.point_distal[j])
        )
        centre = carrier[2, :3, :3] @ point + carrier[2, :3, 3]
        moment, force = through[d, :3] - np.cross(centre, through[d, 3:]), through[d, 3:]
        P, D = above[:, :3, :3] @ joints.axes_proximal[j], below[:, :3, :3] @ joints.axes_distal[j]
        turns = FIRST @ np.unwrap([joint_angles.angles(a, b) for a, b in zip(P, D, strict=True)], axis=0)
        w = spin(below[:, :3, :3])[0] - spin(above[:, :3, :3])[0]
        speeds = []
        for frames in (below, above):
            held = np.linalg.inv(frames[2]) @ np.append(centre, 1.0)
            speeds.append((FIRST @ (frames @ held))[:3])
        powers = [moment @ w, force @ (speeds[0] - speeds[1])]
        found += [
            *projected(P[2], D[2], moment).ravel(),
            *projected(P[2], D[2], force).ravel(),
            *turns,
            *powers,
        ]
    residual = through[root, :3] - np.cross(at[2, root, :3, 3], through[root, 3:])
    return np.array([*found, *residual, *through[root, 3:]]), through
