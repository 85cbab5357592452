"""Markers that are turned about the bone, on made-up legs whose knees bend about a known axis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.calibrated import find_misplaced, new_shape
from kernels.faults.turned import BESIDE_AXIS, SINCE_STANDING, find_turned, new_turns
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import new_health

Array = NDArray[np.float64]
PELVIS, THIGH, SHANK = range(3)
HIP_IN_PELVIS, KNEE_IN_THIGH = np.array([-0.05, -0.1, 0.09]), np.array([0.0, -0.4, 0.0])
BODY = np.array([PELVIS] * 4 + [THIGH] * 2 + [SHANK] * 2)
KNEE, WAND, ANKLE, TIBIA = 4, 5, 6, 7
LOCAL = np.array(
    [
        [0.1, 0.0, 0.12], [0.1, 0.0, -0.12], [-0.08, 0.02, 0.05], [-0.08, 0.02, -0.05],
        [0.0, -0.4, 0.05], [0.01, -0.22, 0.1], [0.0, -0.4, 0.04], [0.02, -0.2, 0.09],
    ]
)  # fmt: skip
"""X forwards, Y up, Z to the right, in each segment; thigh and shank begin in their upper joint [m]."""
STANDING = math.radians(-12.0)
"""Turn of the shank in the thigh."""
KNEE_IN_SHANK = Rotation.from_euler("Y", STANDING).inv().apply(LOCAL[KNEE] - KNEE_IN_THIGH)
DT = 0.01


def frames(flexion: Array, local: Array = LOCAL) -> Array:
    """(n, 8, 3) - markers of a person in a skew room whose knee bends about the thigh's Z [m]."""
    room, found = Rotation.random(random_state=5), []
    for angle in flexion:
        thigh = Rotation.from_euler("ZXY", [0.3, 0.05, 0.1])
        shank = thigh * Rotation.from_euler("ZXY", [-angle, 0.0, STANDING])
        hip = HIP_IN_PELVIS
        knee = hip + thigh.apply(KNEE_IN_THIGH)
        parts = [local[:4], hip + thigh.apply(local[4:6]), knee + shank.apply(local[6:])]
        found.append(room.apply(np.concatenate(parts)))
    return np.array(found)


def about_bone(m: int, degrees: float) -> Array:
    """The places of the markers with a wand turned about the line of the other two points of its segment."""
    local, (near, end) = LOCAL.copy(), (KNEE, np.zeros(3)) if m == WAND else (ANKLE, KNEE_IN_SHANK)
    line = (end - local[near]) / np.linalg.norm(end - local[near])
    local[m] = local[near] + Rotation.from_rotvec(math.radians(degrees) * line).apply(local[m] - local[near])
    return local


def run(measured: Array, calibrated: Array = LOCAL, standing: float = STANDING):
    """What a leg of that calibration has found after these frames."""
    health, markers = new_health(len(BODY)), ModelMarkers(BODY, calibrated)
    shape = new_shape(
        np.array([[PELVIS, THIGH], [THIGH, SHANK]]),
        np.array([[HIP_IN_PELVIS, np.zeros(3)], [KNEE_IN_THIGH, np.zeros(3)]]),
        np.full(3, 0.005), np.full((2, 2), 0.01),
        np.full(2, -1), np.zeros((2, 3)), np.full(2, np.inf), len(BODY),
    )  # fmt: skip
    legs = new_turns(
        np.array([[PELVIS, THIGH, SHANK]]), np.array([[KNEE, WAND, ANKLE, TIBIA, KNEE]]),
        np.array([[HIP_IN_PELVIS, np.zeros(3), KNEE_IN_THIGH, KNEE_IN_SHANK]]),
        np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]),
        np.array([[0.1, standing]]), np.array([math.radians(20.0)]),
    )  # fmt: skip
    for frame in measured:
        health.labelled[:] = frame
        health.weight[:] = np.isfinite(frame[:, 0])
        find_misplaced(markers, 4.0, health, shape)
        find_turned(markers, health, shape, DT, legs)
    return legs


def bending(n: int = 150) -> Array:
    """Flexions of a knee from 0 to 60 degrees and back, some times over [rad]."""
    return math.radians(30.0) * (1.0 - np.cos(np.linspace(0.0, 6.0 * np.pi, n)))


@pytest.mark.parametrize("m", [WAND, TIBIA])
@pytest.mark.parametrize("degrees", [-30.0, 30.0])
def test_a_wand_turned_since_standing_is_found(m: int, degrees: float) -> None:
    """Protects from a wand that was put on anew: the turn is found, of either wand, as it is."""
    legs = run(frames(np.full(20, 0.1), about_bone(m, degrees)))
    assert legs.off[0] == SINCE_STANDING
    assert math.degrees(abs(legs.found[0, 0])) == pytest.approx(30.0, abs=3.0)


def test_the_wand_of_the_thigh_turns_the_hip_too() -> None:
    """Protects the name of the marker: a wand of the thigh turns hip and knee against each other."""
    _, hip, knee = run(frames(np.full(20, 0.1), about_bone(WAND, 30.0))).turn[0]
    assert abs(hip + knee) < math.radians(10.0) < abs(hip)
    _, hip, knee = run(frames(np.full(20, 0.1), about_bone(TIBIA, 30.0))).turn[0]
    assert abs(hip) < math.radians(10.0) < abs(knee)


def test_a_leg_as_calibrated_shows_nothing() -> None:
    """Protects clean legs, bent and straight, and exactness: nothing is turned at all."""
    legs = run(frames(bending()))
    assert legs.off[0] == 0
    assert legs.found[0] == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("degrees", [-50.0, 50.0])
def test_a_wand_beside_the_axis_in_both_trials_is_found(degrees: float) -> None:
    """Protects from a wand that stood beside the knee's axis in the static trial, too: the axis is found."""
    moved = about_bone(WAND, degrees)
    legs = run(frames(bending(), moved), standing=math.nan)
    assert legs.off[0] == BESIDE_AXIS
    assert math.degrees(abs(legs.found[0, 1])) == pytest.approx(50.0, abs=5.0)
    assert run(frames(np.full(150, 0.1), moved), standing=math.nan).off[0] == 0


def test_it_is_over_when_the_wand_is_back() -> None:
    """Protects a run from doubt without end: half a second after the wand is in its place nothing is said."""
    legs = run(np.concatenate([frames(np.full(20, 0.1), about_bone(WAND, 40.0)), frames(np.full(200, 0.1))]))
    assert legs.off[0] == 0


def test_markers_that_are_not_seen_leave_what_was_found() -> None:
    """Protects from NaN in the means: what was found stands while a marker is missing, and goes on after."""
    seen = frames(np.full(60, 0.1), about_bone(WAND, 30.0))
    hidden = seen.copy()
    hidden[20:40, WAND] = np.nan
    assert run(hidden[:40]).off[0] == SINCE_STANDING
    assert run(hidden).found[0] == pytest.approx(run(seen).found[0], abs=1e-9)
