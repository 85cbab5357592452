"""Who leaps, turns round or walks backwards, and that nobody does who walks as usual."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.bench.runs.gait_phase import belt
from rtsim.methods.person_motion import BACKWARDS, TURNS, PersonLeap, WalkDirection

RATE, STRIDE_S = 100.0, 1.1
EYE = np.eye(3)


def turned(angle: float) -> np.ndarray:
    """Axes turned about the vertical [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def test_what_nobody_can_do_is_a_leap() -> None:
    """Protects the wearer: three metres, or half a turn, between two frames; and not a jump that is one."""
    leap = PersonLeap()
    assert leap.look(0.0, np.zeros(3), EYE) == ""
    assert leap.look(0.01, np.array([0.2, 0.1, 0.0]), turned(0.3)) == ""
    assert "leaps by 3 m in 10 ms" in leap.look(0.02, np.array([3.2, 0.1, 0.0]), turned(0.3))
    assert leap.look(0.03, np.array([3.2, 0.1, 0.0]), turned(0.3)) == ""
    assert "turns by 180 deg" in leap.look(0.04, np.array([3.2, 0.1, 0.0]), turned(0.3 + math.pi))
    assert leap.look(0.14, np.array([4.0, 0.1, 0.0]), turned(0.3 + math.pi)) == ""
    assert "leaps by" in leap.look(
        0.1, np.array([5.0, 0.1, 0.0]), turned(0.3 + math.pi)
    )  # the clock went back
    assert "leaps by nan" in leap.look(0.2, np.full(3, np.nan), EYE)
    leap.begin()
    assert leap.look(0.3, np.zeros(3), EYE) == ""


def told(
    strides: np.ndarray, speed: float = 0.0, heading: np.ndarray | None = None, n_foot: int = 2
) -> list[str]:
    """What is said of feet on a belt, raised in swing, under a pelvis that moves [m/s] and turns."""
    direction, places = WalkDirection(), belt((0.62, 0.62), 0.6, 0.4)(strides)
    n = len(strides)
    heading = np.zeros(n) if heading is None else heading
    found, x, z = [], 0.0, 0.0
    for k in range(n):
        c, s = math.cos(heading[k]), math.sin(heading[k])
        x, z = x + speed * c / RATE, z + speed * s / RATE
        feet = []
        for foot, phase in enumerate((strides[k], strides[k] + 0.5)):
            swung = (phase % 1.0 - 0.62) / 0.38
            feet.append(
                (float(places[k, foot]), 0.08 + 0.12 * math.sin(math.pi * swung) ** 2 * (swung > 0.0))
            )
        found.append(direction.look(k / RATE, np.array([x, 1.0, z]), (c, s), feet[:n_foot]))
    return found


FORTH = np.arange(0.3, 8.0, 1.0 / (RATE * STRIDE_S))
BACK = np.concatenate([FORTH, FORTH[::-1][1:]])


@pytest.mark.parametrize("n_foot", [1, 2])
@pytest.mark.parametrize("speed", [0.0, 1.1])
def test_a_walk_forwards_is_one(speed: float, n_foot: int) -> None:
    """Protects from alarms for nothing: on a belt and over the floor, by one foot and by both."""
    sway = 0.15 * np.sin(2.0 * np.pi * FORTH)
    assert not any(told(FORTH, speed, sway, n_foot))


@pytest.mark.parametrize("n_foot", [1, 2])
@pytest.mark.parametrize("floor", [True, False])
def test_a_walk_backwards_is_told_within_a_fraction_of_a_second(floor: bool, n_foot: int) -> None:
    """Protects the wearer: on a belt, where the pelvis goes nowhere, too, and for as long as it lasts."""
    n = len(FORTH)
    found = told(BACK, 0.0, None, n_foot)
    if floor:
        found[n:] = told(FORTH[::-1], -1.0, None, n_foot)[1:]
    assert not any(found[:n])
    first = next(k for k, said in enumerate(found[n:]) if said == BACKWARDS)
    assert first / RATE < 0.7
    assert all(said == BACKWARDS for said in found[n + first :])


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_turning_round_is_told(seconds: float) -> None:
    """Protects the wearer: half a turn in three seconds, or one, is told before 50 degrees are over."""
    begin = 4.0
    times = np.arange(len(FORTH)) / RATE
    heading = math.pi * np.clip((times - begin) / seconds, 0.0, 1.0)
    found = told(FORTH, 1.0, heading)
    first = next(k for k, said in enumerate(found) if said)
    assert found[first] == TURNS
    assert 0.0 < heading[first] < math.radians(50.0)
    assert found[-1] == ""


def test_who_stands_does_not_walk_backwards() -> None:
    """Protects from alarms for nothing: feet that tremble by a millimetre say nothing."""
    rng = np.random.default_rng(1)
    direction = WalkDirection()
    for k in range(500):
        feet = [(float(x), 0.08 + float(y)) for x, y in rng.normal(0.0, 5e-4, (2, 2))]
        assert direction.look(k / RATE, np.array([0.0, 1.0, 0.0]), (1.0, 0.0), feet) == ""
