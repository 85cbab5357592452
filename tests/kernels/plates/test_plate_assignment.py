"""Which foot bears which plate: the twin, each rule on a case of its own, and the wrenches of the feet."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.plates.plate_assignment import (
    BEARS,
    CHANGED,
    FAR,
    NONE,
    OFF_PLATE,
    TWO_FEET,
    UNMEASURED,
    UNSEEN,
    UNSURE,
    assign_feet,
    foot_wrenches,
    new_plate_assignment,
    new_rules,
)
from kernels.plates.plate_contact import EMPTY, LOADED, NOT_MEASURED, Plates
from tests.naive.bearing import Assigner

RIGHT, LEFT = 0, 1
DT = 0.01
LEVEL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def plates_of(*centres: tuple[float, float], half: tuple[float, float] = (0.3, 0.2)) -> Plates:
    n = len(centres)
    middle = np.array([[x, 0.0, z] for x, z in centres])
    return Plates(middle, np.tile(LEVEL, (n, 1, 1)), np.tile(half, (n, 1)))


def foot(x: float, z: float, height: float = 0.04) -> np.ndarray:
    """A foot of 0.25 m with its heel at x, toes forward (X)."""
    return np.array([[x, height, z], [x + 0.25, height, z]])


class Steps:
    """Frames one after the other."""

    def __init__(self, plates: Plates) -> None:
        self.plates, self.rules = plates, new_rules()
        self.state = new_plate_assignment(len(plates.centre), 2)
        self.dt = 0.0

    def __call__(self, centre, feet, loaded=None, pressing=None) -> tuple[np.ndarray, np.ndarray]:
        """pressing : (n_plate,) - vertical forces [N]; 700 N without"""
        n_plate = len(self.plates.centre)
        share, status = np.empty((n_plate, 2), np.int64), np.empty(n_plate, np.int64)
        centre = np.asarray(centre, dtype=float).reshape(n_plate, 3)
        if loaded is None:
            loaded = np.where(np.isfinite(centre[:, 0]), LOADED, EMPTY)
        force = np.zeros((n_plate, 3))
        force[:, 1] = 700.0 if pressing is None else pressing
        n_odd = assign_feet(
            self.plates, force, centre, np.asarray(loaded), np.ascontiguousarray(feet), self.dt, self.rules,
            self.state, share, status,
        )  # fmt: skip
        assert n_odd == np.count_nonzero(status)
        self.dt = DT
        return share, status


AWAY = [np.nan] * 3


def test_a_walk_over_two_plates_assigns_each_step():
    """Protects the plain case: right on the first plate, left on the second, the other foot in swing."""
    steps = Steps(plates_of((0.0, 0.0), (0.6, 0.0)))
    right, left = foot(-0.1, 0.05), foot(-0.6, -0.05, 0.2)
    for index in range(30):
        left[:, 0] += 0.03
        share, status = steps([[0.05, 0, 0.05], AWAY], [right, left])
        assert status.tolist() == [0, 0], index
        assert share.tolist() == [[BEARS, NONE], [NONE, NONE]]
    left = foot(0.5, -0.05)
    share, status = steps([[0.1, 0, 0.05], [0.6, 0, -0.05]], [right, left])
    assert share.tolist() == [[BEARS, NONE], [NONE, BEARS]]


def test_one_foot_may_bear_two_plates():
    """Protects a foot across the gap between plates: it has both, and both wrenches add."""
    steps = Steps(plates_of((0.0, 0.0), (0.6, 0.0)))
    share, status = steps([[0.28, 0, 0.0], [0.32, 0, 0.0]], [foot(0.2, 0.0), foot(-0.9, 0.0)])
    assert share.tolist() == [[BEARS, NONE], [BEARS, NONE]]
    force = np.array([[1.0, 300.0, 2.0], [3.0, 100.0, 4.0]])
    moment = np.array([[5.0, 6.0, 7.0], [8.0, 9.0, 10.0]])
    force_out, moment_out = np.empty((2, 3)), np.empty((2, 3))
    assert foot_wrenches(share, force, moment, force_out, moment_out) == 0
    np.testing.assert_allclose(force_out, [[4.0, 400.0, 6.0], [0, 0, 0]])
    np.testing.assert_allclose(moment_out, [[13.0, 15.0, 17.0], [0, 0, 0]])
    assert not status.any()


def test_two_feet_on_one_plate_make_both_unknown():
    """Protects from a moment that is half of the other foot's, wherever the centre of pressure lies."""
    steps = Steps(plates_of((0.0, 0.0)))
    feet = [foot(-0.15, 0.1), foot(-0.15, -0.1)]
    for centre in ([0.0, 0, 0.0], [0.0, 0, 0.1], [0.0, 0, -0.1]):
        share, status = steps([centre], feet)
        assert status[0] == TWO_FEET
        assert share.tolist() == [[UNSURE, UNSURE]]
    force_out, moment_out = np.empty((2, 3)), np.empty((2, 3))
    assert foot_wrenches(share, np.ones((1, 3)), np.ones((1, 3)), force_out, moment_out) == 2
    assert np.isnan(force_out).all()
    assert np.isnan(moment_out).all()


def test_a_foot_that_swings_low_past_one_that_stands_is_not_on_the_plate():
    """Protects mid-swing, when the toes pass the floor by a finger's breadth; on a treadmill as well."""
    for belt in (0.0, -1.2):
        steps = Steps(plates_of((0.0, 0.0), half=(0.8, 0.5)))
        for index in range(40):
            shift = belt * DT * index
            right, left = foot(-0.1 + shift, 0.1), foot(-0.6 + (3.0 + belt) * DT * index, -0.1, 0.05)
            share, status = steps([[shift, 0, 0.1]], [right, left])
            if index:  # speeds are known from the second frame on
                assert status[0] == 0
                assert share.tolist() == [[BEARS, NONE]]


def test_a_plate_of_unknown_extent_tells_two_feet_by_a_point_between_them():
    """Protects files without corners: pressed between two standing feet is two feet, far from both is not."""
    steps = Steps(plates_of((0.0, 0.0), half=(np.inf, np.inf)))
    feet = [foot(-0.1, 0.15), foot(-0.1, -0.15)]
    assert steps([[0.0, 0, 0.0]], feet)[1][0] == TWO_FEET
    assert steps([[0.0, 0, 0.15]], feet)[1][0] == 0
    assert steps([[0.0, 0, 0.5]], feet)[1][0] == FAR


def test_pressure_far_from_all_feet_may_be_of_any_low_one_that_bears_nothing():
    """Protects from a leg without a load where points are in another unit or of another place: not the nearer
    one alone is unknown; a foot in the air, and one that bears another plate, are."""
    for half in ((0.3, 0.2), (np.inf, np.inf)):
        steps = Steps(plates_of((0.0, 0.0), half=half))
        share, status = steps([[0.1, 0, 0.0]], [foot(1.0, 0.1), foot(1.5, -0.1)])
        assert (status[0] & FAR, share.tolist()) == (FAR, [[UNSURE, UNSURE]])
        share, _ = steps([[0.1, 0, 0.0]], [foot(1.0, 0.1), foot(1.5, -0.1, 0.2)])
        assert share.tolist() == [[UNSURE, NONE]]
        assert steps([[0.1, 0, 0.0]], [foot(0.38, 0.1), foot(1.5, -0.1)])[0].tolist() == [[UNSURE, NONE]]
    steps = Steps(plates_of((0.0, 0.0), (1.2, 0.0)))
    share, status = steps([[0.1, 0, 0.0], [1.2, 0, 0.0]], [foot(1.1, 0.0), foot(2.0, 0.0)])
    assert share.tolist() == [[NONE, UNSURE], [BEARS, NONE]] or share.tolist() == [
        [UNSURE, UNSURE],
        [BEARS, NONE],
    ]


def test_a_foot_keeps_its_plate_in_doubt():
    """Protects from a plate that flickers between feet: kept farther out than taken, left only for long."""
    steps = Steps(plates_of((0.0, 0.0)))
    feet = [foot(-0.1, 0.1), foot(-0.1, -0.1, 0.3)]
    assert steps([[0.0, 0, 0.025]], feet)[1][0] == FAR
    assert steps([[0.0, 0, 0.05]], feet)[0].tolist() == [[BEARS, NONE]]
    assert steps([[0.0, 0, 0.025]], feet)[0].tolist() == [[BEARS, NONE]]
    share, status = steps([[0.0, 0, -0.02]], feet)
    assert status[0] == FAR
    assert share.tolist() == [[NONE, UNSURE]]
    assert steps([[0.0, 0, 0.025]], feet)[0].tolist() == [[BEARS, NONE]]


def test_a_lightly_loaded_plate_is_known_as_well_as_its_moments_are():
    """Protects contacts of 20 to 50 N, as of one who sits: 2.5 N m there are 50 to 125 mm."""
    feet = [foot(-0.1, 0.1), foot(-0.1, -0.1, 0.3)]
    for pressing, away, reached in ((20.0, 0.18, True), (20.0, 0.19, False), (50.0, 0.105, True),
                                    (50.0, 0.115, False), (700.0, 0.07, False)):  # fmt: skip
        steps = Steps(plates_of((0.0, 0.0), half=(1.0, 1.0)))
        share, status = steps([[0.0, 0, 0.1 + away]], feet, pressing=[pressing])
        assert (status[0], share[0, 0]) == ((0, BEARS) if reached else (FAR, UNSURE))
    steps = Steps(plates_of((0.0, 0.0), half=(np.inf, np.inf)))
    standing = [foot(-0.1, 0.15), foot(-0.1, -0.15)]
    assert steps([[0.0, 0, 0.06]], standing, pressing=[25.0])[0].tolist() == [[BEARS, NONE]]
    steps = Steps(plates_of((0.0, 0.0), half=(np.inf, np.inf)))
    share, status = steps([[0.0, 0, 0.005]], standing, pressing=[25.0])  # either may be meant
    assert (status[0], share.tolist()) == (FAR, [[UNSURE, UNSURE]])
    assert steps([[0.0, 0, 0.04]], standing, pressing=[300.0])[1][0] == TWO_FEET


def test_a_foot_that_takes_over_is_told_after_its_patience():
    """Protects the change of feet without an empty plate between: told once, and late."""
    steps = Steps(plates_of((0.0, 0.0)))
    feet = [foot(-0.1, 0.03), foot(-0.1, -0.03, 0.3)]
    steps([[0.0, 0, 0.03]], feet)
    told = [steps([[0.0, 0, -0.025]], feet) for _ in range(4)]
    assert [status[0] for _, status in told] == [0, 0, CHANGED, 0]
    assert [share.tolist() for share, _ in told] == [[[BEARS, NONE]]] * 2 + [[[NONE, BEARS]]] * 2


def test_a_centre_of_pressure_beyond_the_plate_is_told():
    """Protects from plates that are swapped, turned or of the wrong size: nothing presses beside a plate."""
    steps = Steps(plates_of((0.0, 0.0)))
    share, status = steps([[0.0, 0, 0.24]], [foot(-0.1, 0.22), foot(-2.0, 0.0)])
    assert status[0] == OFF_PLATE
    assert share.tolist() == [[BEARS, NONE]]
    assert steps([[0.0, 0, -0.4]], [foot(-0.1, 0.22), foot(-2.0, 0.0)])[1][0] == OFF_PLATE | FAR


def test_feet_that_are_not_seen_and_plates_that_are_not_measured_make_unknown():
    """Protects from zeros in place of what nobody knows."""
    steps = Steps(plates_of((0.0, 0.0)))
    gone = np.full((2, 3), np.nan)
    share, status = steps([[0.0, 0, 0.0]], [foot(-0.1, 0.08), gone])
    assert (status[0], share.tolist()) == (UNSEEN, [[UNSURE, UNSURE]])
    share, status = steps([[0.0, 0, 0.0]], [foot(-2.0, 0.0), gone])  # far from what another may press
    assert (status[0], share.tolist()) == (UNSEEN, [[NONE, UNSURE]])
    share, status = steps([[0.0, 0, 0.0]], [foot(-2.0, 0.0), foot(-3.0, 0.0)])
    assert (status[0], share.tolist()) == (FAR, [[UNSURE, UNSURE]])
    share, status = steps([[0.0, 0, 0.0]], [foot(-0.1, 0.0), gone])
    assert (status[0], share.tolist()) == (0, [[BEARS, NONE]])
    share, status = steps([AWAY], [foot(-0.1, 0.0), foot(-2.0, 0.0)], [NOT_MEASURED])
    assert (status[0], share.tolist()) == (UNMEASURED, [[UNSURE, NONE]])


@pytest.mark.parametrize("seed", range(6))
def test_random_walks_are_those_of_the_twin(seed):
    """Protects the rules together: feet that wander, vanish and meet, on plates with and without edges."""
    rng = np.random.default_rng(seed)
    plates = plates_of((0.0, 0.0), (0.5, 0.1), (0.2, -0.4))
    plates.half[2] = np.inf
    steps, twin = Steps(plates), Assigner(plates, new_rules(), 2)
    feet = np.stack([foot(0.0, 0.1), foot(0.1, -0.1)])
    dt = 0.0
    seen = set()
    for _ in range(400):
        feet += rng.normal(0.0, rng.choice([0.001, 0.01, 0.03]), (2, 1, 3)) - 0.02 * (feet - [0.1, 0.05, 0.0])
        shown = feet.copy()
        shown[rng.random(2) < 0.1] = np.nan
        target = feet[rng.integers(0, 2, 3), 0] + rng.normal(0.0, 0.08, (3, 3))
        target += rng.choice([0.0, 0.0, 0.0, 1.0], (3, 1))
        target[:, 1] = 0.0
        loaded = rng.choice([LOADED, LOADED, LOADED, LOADED, EMPTY, NOT_MEASURED], 3)
        target[loaded != LOADED] = np.nan
        pressing = rng.choice([20.0, 40.0, 700.0], 3)
        share, status = steps(target, shown, loaded, pressing)
        force = np.stack([np.zeros(3), pressing, np.zeros(3)], axis=1)
        share_twin, status_twin = twin.step(force, target, loaded, shown, dt)
        dt = DT
        np.testing.assert_array_equal(status, status_twin)
        np.testing.assert_array_equal(share, share_twin)
        seen.update(status.tolist())
    assert {0, FAR, TWO_FEET, UNSEEN, UNMEASURED} <= seen
