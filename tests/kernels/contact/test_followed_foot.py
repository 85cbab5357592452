"""Feet by their own markers: the pose that carries the markers there, and motion by differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.contact.followed_foot import N_POSE, FootFrames, fit_feet, follow
from kernels.contact.prescribed import BodyMotion, new_motion
from kernels.markers.marker_cost import ModelMarkers
from kernels.solver.initial_pose import new_fit_work

Array = NDArray[np.floating]
RNG = np.random.default_rng(3)
AXES = Rotation.from_rotvec(RNG.normal(size=(2, 3))).as_matrix()
FEET = FootFrames(np.array([2, 1]), RNG.normal(size=(2, 3)), AXES)


def quaternion(turn: Rotation) -> Array:
    """Return a rotation as the kernels have it, the real part first."""
    return np.roll(turn.as_quat(canonical=True), 1)


def test_markers_tell_where_a_foot_is() -> None:
    """Protects the fit: body by body, without markers of no weight; NaN of a foot with two."""
    local = RNG.normal(size=(7, 3))
    body = np.array([2, 2, 0, 2, 2, 1, 1])
    turn, shift = Rotation.from_rotvec([0.4, -0.9, 0.3]), np.array([0.3, -0.2, 1.1])
    place = local @ turn.as_matrix().T + shift
    place[4] += 1.0
    weight = np.array([1.0, 0.7, 1.0, 1.0, 0.0, 1.0, 1.0])
    markers = ModelMarkers(body, local, np.ones(7))
    q = np.zeros((2, N_POSE))
    fit_feet(markers, place, weight, FEET, new_fit_work(), q)
    np.testing.assert_allclose(q[0, :3], shift, atol=1e-12)
    np.testing.assert_allclose(q[0, 3:], quaternion(turn), atol=1e-12)
    assert np.isnan(q[1]).all()


def test_what_lies_on_a_foot_moves_with_it() -> None:
    """Protects place, axes and speeds of a frame on a body, by differences of its pose in time."""
    spin, drift, start = (
        np.array([0.8, -0.5, 1.2]),
        np.array([0.4, 0.1, -0.3]),
        np.array([0.1, 0.7, 0.2]),
    )
    first, step = Rotation.from_rotvec([0.2, 0.5, -0.4]), 1e-6

    def at(time: float) -> BodyMotion:
        """Return both frames as if on one body; its angular velocity stands in its own axes."""
        found, turn = new_motion(2), first * Rotation.from_rotvec(spin * time)
        for k in range(2):
            q = np.concatenate([start + drift * time, quaternion(turn)])
            follow(q, np.concatenate([drift, spin]), FEET, k, found)
        return found

    before, now, after = at(-step), at(0.0), at(step)
    for k in range(2):
        np.testing.assert_allclose(now.position[k], start + first.as_matrix() @ FEET.position[k], atol=1e-12)
        np.testing.assert_allclose(now.rotation[k], first.as_matrix() @ AXES[k], atol=1e-12)
        speed = (after.position[k] - before.position[k]) / (2.0 * step)
        np.testing.assert_allclose(now.velocity[k], speed, atol=1e-8)
        turned = Rotation.from_matrix(after.rotation[k] @ before.rotation[k].T).as_rotvec() / (2.0 * step)
        np.testing.assert_allclose(now.turning[k], turned, atol=1e-7)
