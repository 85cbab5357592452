"""Scores of hand-made cases."""

import math

import numpy as np
import pytest

from benchmarks.damage.scene import RIGID_M, Damage, DamagedMarkers
from benchmarks.damage.scores import score
from benchmarks.damage.solving import SolvedScene
from streams.messages import Status

LABELS = ("hip_flexion", "hip_adduction", "knee_flexion_l", "ankle_dorsiflexion")
N, FIRST, STOP = 100, 40, 60
DEGRADED = int(Status.DEGRADED)


def a_scene() -> DamagedMarkers:
    """One marker of one segment, always seen."""
    return DamagedMarkers(("M",), ("thigh",), np.zeros((N, 1, 3)), np.arange(N) / 50.0, 50.0)


def a_damage(first=FIRST, stop=STOP) -> Damage:
    """In frames 40 to 59."""
    return Damage(a_scene().positions, a_scene().times, np.arange(N), first, stop, "")


def solved(off_deg=(), status=(), stated=None) -> SolvedScene:
    """Angles of 170 degrees, but for (frames, angle, deviation); statuses of (frames, bits)."""
    angles, bits = np.full((N, 4), math.radians(170.0)), np.zeros(N, np.int64)
    for frames, k, deg in off_deg:
        angles[frames, k] += math.radians(deg)
    for frames, word in status:
        bits[frames] = word
    return SolvedScene(LABELS, ("M",), bits, angles, stated, np.ones((N, 1)), np.zeros((N, 1)), np.zeros(N))


def test_nothing_is_wrong_with_the_same_angles():
    found = score(solved(), solved(), a_damage(), a_scene())
    assert (found.unflagged_deg, found.n_damaged, found.n_wrong, found.n_needless) == (0.0, 20, 0, 0)
    assert (found.recovery_s, found.recovered) == (0.0, True)
    assert math.isnan(found.stated_ratio)


def test_wrong_frames_that_are_called_ok_are_missed():
    damaged = solved([(slice(45, 55), 2, -30.0), (slice(50, 51), 0, 8.0)], [(slice(45, 48), DEGRADED)])
    found = score(damaged, solved(), a_damage(), a_scene())
    assert (found.n_wrong, found.n_missed) == (10, 7)
    assert found.unflagged_deg == pytest.approx(30.0)
    assert 48 <= found.worst < 55
    assert found.n_wrong_after == 0


def test_only_flexions_count_and_all_angles_are_told_apart():
    found = score(solved([(slice(50, 52), 1, 12.0)]), solved(), a_damage(), a_scene())
    assert (found.unflagged_deg, found.n_wrong) == (0.0, 0)
    assert found.unflagged_all_deg == pytest.approx(12.0)


def test_angles_are_compared_the_short_way_round():
    """170 degrees and 30 more are -160; 355 more are 5 less."""
    found = score(solved([(slice(50, 51), 0, 354.0)]), solved(), a_damage(), a_scene())
    assert found.unflagged_deg == pytest.approx(6.0)


def test_a_flagged_frame_is_needless_where_it_is_right():
    for bit in (Status.UNCERTAIN, Status.SUSPECT):
        damaged = solved([(slice(40, 45), 0, 3.0)], [(slice(40, 50), bit), (slice(70, 75), bit)])
        found = score(damaged, solved(), a_damage(), a_scene())
        assert found.n_needless == 5
        assert found.n_wrong == 0


def test_recovery_lasts_until_all_later_frames_are_right_and_ok():
    after_by_angle = solved([(slice(62, 63), 0, 2.5)])
    assert score(after_by_angle, solved(), a_damage(), a_scene()).recovery_s == pytest.approx(3 / 50)
    after_by_status = solved((), [(slice(60, 70), DEGRADED)])
    assert score(after_by_status, solved(), a_damage(), a_scene()).recovery_s == pytest.approx(10 / 50)
    never = score(solved([(slice(60, N), 0, 9.0)]), solved(), a_damage(), a_scene())
    assert (never.recovery_s, never.recovered) == (pytest.approx(40 / 50), False)
    assert (never.n_wrong_after, never.n_missed_after) == (40, 40)
    assert never.unflagged_deg == pytest.approx(9.0)


def test_damage_that_lasts_has_no_recovery():
    found = score(solved([(slice(50, N), 0, 9.0)]), solved(), a_damage(stop=N), a_scene())
    assert math.isnan(found.recovery_s)
    assert (found.n_damaged, found.n_wrong) == (60, 50)


def test_frames_without_a_reference_do_not_count():
    damaged = solved([(slice(40, 60), 0, 50.0)])
    assert score(damaged, solved((), [(slice(40, 60), DEGRADED)]), a_damage(), a_scene()).n_wrong == 0
    gap = a_scene()
    gap.positions[40:58] = np.nan
    found = score(damaged, solved(), a_damage(), gap)
    assert (found.n_damaged, found.n_wrong) == (2, 2)
    not_sent = solved([(slice(40, 60), 0, math.nan)], [(slice(40, 60), -1)])
    not_sent.angles[40:60] = math.nan
    assert score(not_sent, solved(), a_damage(), a_scene()).n_damaged == 0


def test_frames_before_the_damage_do_not_count():
    found = score(solved([(slice(0, 40), 0, 50.0)]), solved(), a_damage(), a_scene())
    assert (found.unflagged_deg, found.n_wrong) == (0.0, 0)


def test_deviations_are_held_to_those_that_are_stated():
    stated = np.full((N, 4), math.radians(2.0))
    stated[:, 2] = 0.0
    damaged = solved([(slice(50, 51), 0, 3.0), (slice(51, 52), 1, 90.0)], stated=stated)
    assert score(damaged, solved(), a_damage(), a_scene()).stated_ratio == pytest.approx(1.5)


def test_a_segment_is_determined_by_three_markers_or_all_it_has():
    positions = np.zeros((4, 6, 3))
    positions[1, 0] = positions[2, [0, 1]] = positions[3, 4] = np.nan
    names, groups = tuple("ABCDEF"), ("thigh",) * 4 + ("foot", "")
    scene = DamagedMarkers(names, groups, positions, np.arange(4.0), 1.0)
    assert scene.determined.tolist() == [True, True, False, False]
    positions[0, 5] = np.nan
    assert scene.complete.tolist() == [True, False, False, False]


def test_a_segment_keeps_its_shape_where_no_distance_is_off_its_median():
    """Protects the frames that false alarms are counted in: within a segment only, gaps are no change."""
    positions = np.random.default_rng(0).normal(size=(1, 5, 3)).repeat(7, axis=0)
    positions += np.linspace(0.0, 1.0, 7)[:, None, None]
    positions[2, 1] += (
        2.0
        * RIGID_M
        * (positions[2, 1] - positions[2, 0])
        / np.linalg.norm(positions[2, 1] - positions[2, 0])
    )
    positions[3, 2:4] += 1.0
    positions[4, 0] = np.nan
    positions[5, 4] += 1.0
    scene = DamagedMarkers(
        ("A", "B", "C", "D", "E"), ("s", "s", "t", "t", ""), positions, np.arange(7.0), 1.0
    )
    assert scene.sound.tolist() == [True, True, False, True, True, True, True]
