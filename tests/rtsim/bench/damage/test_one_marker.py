"""What flags of clean frames are held to: whether an angle hangs on one marker."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.damage import one_marker
from benchmarks.damage.cases import Clean
from benchmarks.damage.one_marker import hang_on_one, limits_of
from benchmarks.damage.persons import RecordedPerson
from benchmarks.damage.scene import DamagedMarkers
from benchmarks.damage.solving import SolvedScene
from benchmarks.damage.summary import alarms_of, late_of
from streams.messages import Status

N = 6
FLAGGED = np.array([True, True, True, True, False, False])


class WithLimits:
    """A person of whom only the limits are asked."""

    class run:  # noqa: N801 - as the field of a person
        class uncertainty:  # noqa: N801
            limit_deg, limit_rotation_deg = 5.0, 7.5


def a_scene() -> DamagedMarkers:
    """Two markers of a thigh and one that is not the subject's."""
    return DamagedMarkers(
        ("A", "B", "X"), ("thigh", "thigh", ""), np.zeros((N, 3, 3)), np.arange(N) / 10.0, 10.0
    )


def solved(degrees, status=0) -> SolvedScene:
    """Three angles that are the same in all rows but for those given."""
    angles = np.radians(np.broadcast_to(np.asarray(degrees, float), (N, 3)))
    status = np.full(N, status, np.int64)
    return SolvedScene(
        ("f", "a", "r"), ("A", "B"), status, angles, None, np.ones((N, 2)), np.zeros((N, 2)), np.ones(N)
    )


@pytest.mark.parametrize(
    ("moved", "hangs"),
    [((4.9, -4.9, 7.4), False), ((5.1, 0, 0), True), ((0, 0, 7.6), True), ((0, 5.1, 0), True)],
)
def test_frames_hang_on_a_marker_without_which_an_angle_leaves_its_limit(monkeypatch, moved, hangs):
    """Protects the target: the subject's markers are left out, each by itself, in the frames asked for."""
    gone = []

    def without(person, scene, damage):
        gone.append(np.isnan(damage.positions).all(axis=(0, 2)).tolist())
        assert damage.kept.tolist() == [0, 1, 2, 3]
        return solved(moved if gone[-1][1] else (0.0, 0.0, 0.0))

    monkeypatch.setattr(one_marker, "solve", without)
    found = hang_on_one(WithLimits(), a_scene(), solved((0.0, 0.0, 0.0)), FLAGGED)
    assert found.tolist() == (FLAGGED & hangs).tolist()
    assert gone == [[True, False, False], [False, True, False]]


def test_nothing_is_solved_where_nothing_is_flagged(monkeypatch):
    monkeypatch.setattr(one_marker, "solve", None)
    assert not hang_on_one(WithLimits(), a_scene(), solved((0.0, 0.0, 0.0)), ~np.ones(N, bool)).any()


def test_a_walker_does_not_hang_on_one_of_its_markers():
    """Holds it to the real stage: of a made-up walker, whose frames are ok, no angle hangs on one marker."""
    walker = RecordedPerson(None, "walker", "right")
    walker.use("minimised")
    scene = walker.scene(0)
    few = scene._replace(positions=scene.positions[:40], times=scene.times[:40])
    clean = one_marker.solve(walker, few)
    assert limits_of(walker, clean.angles.shape[1])[2] == pytest.approx(np.radians(7.5))
    assert not hang_on_one(walker, few, clean, np.ones(40, bool)).any()


def test_a_flag_is_false_where_nothing_hangs_on_one_marker():
    status = np.array([32, 64, 64, 0, 0, 0])
    scene = a_scene()
    scene.positions[5] = np.nan
    hangs = np.array([True, False, True, False, False, False])
    clean = Clean(None, scene, 0, solved((0.0, 0.0, 0.0))._replace(status=status), hangs)
    found = alarms_of(clean)
    assert (found.n_clean, found.n_flagged, found.n_false, found.n_false_suspect) == (5, 3, 1, 1)
    assert (found.n_gap, found.n_gap_flagged) == (1, 0)
    assert int(Status.SUSPECT) == 64


def test_recoveries_are_told_by_their_95th_percentile():
    assert late_of([0.0] * 96 + [9.0] * 4) == 0.0
    assert late_of([0.0] * 90 + [9.0] * 10) == 9.0
