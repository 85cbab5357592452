"""Markers beside their calibrated places, by rigid shapes of markers and joint centres, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.faults.calibrated import YOUNG, YOUNG_LIMIT, find_misplaced, new_shape
from kernels.markers.marker_cost import ModelMarkers
from kernels.markers.marker_health import new_health

Array = NDArray[np.float64]
PELVIS, THIGH, SHANK, FOOT = range(4)
N_OF = (3, 2, 4, 2)
BODY = np.repeat(np.arange(4), N_OF)
LOCAL = np.random.default_rng(8).uniform(-0.1, 0.1, (len(BODY), 3))
CENTRES = np.random.default_rng(9).uniform(-0.2, 0.2, (3, 2, 3))
ENDS = np.array([[PELVIS, THIGH], [THIGH, SHANK], [SHANK, FOOT]])
ERROR, CENTRE_ERROR = np.full(4, 0.005), np.full((3, 2), 0.01)
NOBODY = np.full(3, -1), np.zeros((3, 3)), np.full(3, np.inf)
"""No marker beside any joint."""
LIMIT = 4.0
AWAY = np.array([0.6, 0.5, -0.4])
HEEL = int(np.flatnonzero(BODY == FOOT)[0])


def standing(seed: int = 1) -> tuple[list[Rotation], Array]:
    """Axes and origins (4, 3) [m] of the segments of a leg whose joint centres meet, in some pose."""
    turns = list(Rotation.random(4, random_state=seed))
    origins = np.zeros((4, 3))
    for j, (a, b) in enumerate(ENDS):
        origins[b] = origins[a] + turns[a].apply(CENTRES[j, 0]) - turns[b].apply(CENTRES[j, 1])
    return turns, origins


def placed(seed: int = 1) -> Array:
    """(n_marker, 3) - the markers in that pose [m]."""
    turns, origins = standing(seed)
    return np.array([origins[b] + turns[b].apply(x) for b, x in zip(BODY, LOCAL, strict=True)])


def found(
    measured: Array, error: Array = ERROR, origin: Array | None = None, beside: tuple[Array, ...] = NOBODY
) -> tuple[int, Array, Array]:
    """How many bodies have a marker beside its place; evidence and marker (4,) of each."""
    health = new_health(len(BODY))
    health.labelled[:] = measured
    health.weight[:] = np.isfinite(measured[:, 0])
    if origin is not None:
        health.origin[:] = origin
    shape = new_shape(ENDS, CENTRES, error, CENTRE_ERROR, *beside, len(BODY))
    n = find_misplaced(ModelMarkers(BODY, LOCAL), LIMIT, health, shape)
    return n, shape.evidence, shape.marker


def squares(local: Array, point: Array, weight: Array) -> float:
    """Weighted squares of points about their rigid fit."""
    y = local - np.average(local, axis=0, weights=weight)
    x = point - np.average(point, axis=0, weights=weight)
    turn, _ = Rotation.align_vectors(x, y, weights=weight)
    return float(np.sum(weight * np.sum((x - turn.apply(y)) ** 2, axis=1)))


def test_evidence_is_what_a_marker_explains_of_the_squares():
    """Protects the evidence against a heel of a foot of two markers, by its definition."""
    measured, (turns, origins) = placed(), standing()
    measured[HEEL] += [0.06, 0.05, -0.04]
    n, evidence, marker = found(measured)
    ankle = origins[SHANK] + turns[SHANK].apply(CENTRES[2, 0])
    local, point = np.vstack([LOCAL[BODY == FOOT], CENTRES[2, 1]]), np.vstack([measured[BODY == FOOT], ankle])
    weight = np.array([0.005, 0.005, 0.01]) ** -2.0
    whole = squares(local, point, weight)
    without = squares(local[1:], point[1:], weight[1:])
    assert n == 1
    assert marker[FOOT] == HEEL
    assert evidence[FOOT] == pytest.approx(np.sqrt(whole - without), rel=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_no_pose_is_evidence(seed):
    """Protects clean frames: joints may be turned as they like."""
    assert found(placed(seed))[0] == 0


@pytest.mark.parametrize("m", range(len(BODY)))
def test_a_marker_of_any_segment_is_named(m):
    """Protects the name: a marker far off is evidence on its own segment, which has the most of it."""
    measured = placed()
    measured[m] += 0.3 * Rotation.random(random_state=m).apply([1.0, 0.0, 0.0])
    n, evidence, marker = found(measured)
    assert n >= 1
    assert marker[np.argmax(evidence)] == m


def test_a_thigh_of_two_markers_carries_the_hip_but_no_knee():
    """Protects from a circle: what stands on the centre of a shank says nothing to that shank, but the pelvis
    is judged by it."""
    measured = placed()
    measured[int(np.flatnonzero(BODY == THIGH)[0])] += [0.1, -0.1, 0.1]
    _, evidence, _ = found(measured)
    assert evidence[PELVIS] > 0.0
    assert evidence[SHANK] == evidence[FOOT] == 0.0


def test_what_is_missing_or_learnt_anew_is_no_evidence():
    """Protects frames with gaps, and markers that moved for good and were learnt anew there."""
    measured, gone, learnt = placed(), placed(), np.zeros_like(LOCAL)
    measured[HEEL] += standing()[0][FOOT].apply([0.1, 0.1, 0.0])
    gone[HEEL] = np.nan
    learnt[HEEL] = [0.1, 0.1, 0.0]
    assert found(measured)[0] == 1
    assert found(gone)[0] == 0
    assert found(measured, origin=learnt)[0] == 0
    no_shank = measured.copy()
    no_shank[BODY == SHANK] = np.nan  # two markers alone have no shape
    assert found(no_shank)[0] == 0


def test_a_segment_that_is_not_judged_carries_no_centre():
    """Protects trunks and models of their own: without an error they are left alone, and tell nothing."""
    measured = placed()
    measured[HEEL] += [0.2, 0.1, 0.0]
    error = ERROR.copy()
    error[SHANK] = np.inf
    assert found(measured, error)[0] == 0
    error[:] = [0.005, 0.005, 0.005, np.inf]
    assert found(measured, error)[0] == 0


def test_what_is_beside_its_place_stays_so_until_it_is_nearer():
    """Protects from status that flickers about the limit, and ends with the evidence."""
    health, shape = new_health(len(BODY)), new_shape(ENDS, CENTRES, ERROR, CENTRE_ERROR, *NOBODY, len(BODY))
    shape.sound[:] = YOUNG
    clean, off, told = placed(), np.zeros(3), []
    off[:] = standing()[0][FOOT].apply(LOCAL[HEEL] - LOCAL[HEEL + 1])
    off *= 1.0 / np.linalg.norm(off)
    for by in (0.025, 0.06, 0.025, 0.0, 0.025):
        health.labelled[:] = clean
        health.labelled[HEEL] += by * off
        told.append(find_misplaced(ModelMarkers(BODY, LOCAL), LIMIT, health, shape) == 1)
    assert told == [False, True, True, False, False]


def shifted(marker: int, wanted: float) -> Array:
    """(n_marker, 3) - markers of which one is off by as much as gives this evidence against it [m]."""
    low, high = 0.0, 0.2
    for _ in range(60):
        middle, health = 0.5 * (low + high), new_health(len(BODY))
        shape = new_shape(ENDS, CENTRES, ERROR, CENTRE_ERROR, *NOBODY, len(BODY))
        health.labelled[:], health.weight[:] = placed(), 1.0
        health.labelled[marker] += middle * AWAY
        find_misplaced(ModelMarkers(BODY, LOCAL), 1e-6, health, shape)
        low, high = (low, middle) if shape.evidence[BODY[marker]] >= wanted else (middle, high)
    return placed() + high * AWAY * (np.arange(len(BODY)) == marker)[:, None]


def begun(marker: int, evidences: list[float]) -> list[int]:
    """Whether the segment of a marker is off in a row of frames, from a fresh start.

    evidences : against that marker, in parts of the limit
    """
    health, shape = new_health(len(BODY)), new_shape(ENDS, CENTRES, ERROR, CENTRE_ERROR, *NOBODY, len(BODY))
    health.weight[:], said = 1.0, []
    frames = {part: shifted(marker, part * LIMIT) if part else placed() for part in {*evidences}}
    for part in evidences:
        health.labelled[:] = frames[part]
        find_misplaced(ModelMarkers(BODY, LOCAL), LIMIT, health, shape)
        said.append(int(shape.off[BODY[marker]]))
    return said


def test_a_foot_of_two_markers_has_the_calibration_alone_at_first():
    """Protects the first frames of a foot whose toe lies elsewhere than in the static trial: less is enough
    until frames were without a finding, and what was beside its place from the begin stays so for longer."""
    assert begun(HEEL, [0.9, 0.7, 0.7]) == [1, 1, 1]
    sound = [0.0] * YOUNG
    assert begun(HEEL, [*sound, 0.9, 1.1, 0.9, 0.7])[-4:] == [0, 1, 1, 0]
    assert begun(HEEL, [*sound[1:], 0.9])[-1] == 1


def test_a_segment_that_its_markers_fix_keeps_its_limit():
    """Protects clean first frames of thighs and pelves, whose skin moves in more ways."""
    on_shank = int(np.flatnonzero(BODY == SHANK)[0])
    assert YOUNG_LIMIT < 0.9
    assert begun(on_shank, [0.9, 1.1, 0.9, 0.7]) == [0, 1, 1, 0]


def test_evidence_is_in_usual_distances_of_any_size() -> None:
    """Protects from numbers that are large beside 1: half the usual distances are twice the evidence."""
    measured = placed()
    measured[HEEL] += [0.0, 0.08, 0.0]
    health = new_health(len(BODY))
    health.labelled[:], health.weight[:] = measured, 1.0
    several = []
    for scale in (1.0, 1e-4):
        shape = new_shape(ENDS, CENTRES, scale * ERROR, scale * CENTRE_ERROR, *NOBODY, len(BODY))
        assert find_misplaced(ModelMarkers(BODY, LOCAL), LIMIT / scale, health, shape) == 1
        several.append(scale * shape.evidence[FOOT])
    np.testing.assert_allclose(several[1], several[0], rtol=1e-6)


def with_malleolus(seed: int = 1) -> tuple[Array, tuple[Array, ...], int]:
    """Markers of a leg of which shank and foot show two each, one of them near the ankle's axis; that one."""
    turns, origins = standing(seed)
    own = np.flatnonzero(BODY == SHANK)
    malleolus = int(own[0])
    measured, place = placed(seed), np.array([0.01, 0.0, 0.05])
    measured[malleolus] = origins[FOOT] + turns[FOOT].apply(place)
    measured[own[2:]] = np.nan
    return (
        measured,
        (np.array([-1, -1, malleolus]), np.array([[0.0] * 3, [0.0] * 3, place]), np.full(3, 0.01)),
        malleolus,
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_shank_of_two_markers_lends_the_foot_its_malleolus(seed):
    """Protects feet of Plug-in Gait, whose heel may be 100 mm off unnoticed: where nothing carries the centre
    of the ankle the marker beside it is the third point, by its definition."""
    clean, beside, malleolus = with_malleolus(seed)
    assert found(clean, beside=beside)[0] == 0
    measured = clean.copy()
    away = clean[HEEL] - clean[malleolus]
    measured[HEEL] += 0.1 * away / np.linalg.norm(away)
    assert found(measured)[0] == 0
    n, evidence, marker = found(measured, beside=beside)
    local = np.vstack([LOCAL[BODY == FOOT], beside[1][2]])
    point, weight = (
        np.vstack([measured[BODY == FOOT], measured[malleolus]]),
        np.array([0.005, 0.005, 0.01]) ** -2.0,
    )
    whole, without = squares(local, point, weight), squares(local[1:], point[1:], weight[1:])
    assert n == 1
    assert marker[FOOT] == HEEL
    assert evidence[FOOT] == pytest.approx(np.sqrt(whole - without), rel=1e-7)


def test_the_lent_marker_is_named_where_it_is_off():
    """Protects the right name: an ankle marker that is off is found on the foot that borrows it."""
    measured, beside, malleolus = with_malleolus()
    away = measured[malleolus] - measured[BODY == FOOT].mean(axis=0)
    measured[malleolus] += 0.2 * away / np.linalg.norm(away)
    n, _, marker = found(measured, beside=beside)
    assert n == 1
    assert marker[FOOT] == malleolus


def test_a_lent_marker_that_was_learnt_elsewhere_is_no_evidence():
    """Protects a foot from an ankle marker that was learnt anew at another place of its own segment."""
    measured, beside, malleolus = with_malleolus()
    measured[malleolus] += [0.2, 0.1, 0.0]
    learnt = np.zeros_like(LOCAL)
    learnt[malleolus] = [0.2, 0.1, 0.0]
    assert found(measured, beside=beside)[0] == 1
    assert found(measured, origin=learnt, beside=beside)[0] == 0
