"""Faults that show at the solution, and how long a doubt lasts."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.faults.innovation import has_leapt
from kernels.faults.solved import BUMPED, CALM, SETTLED, judge_solved, weigh_worst
from kernels.markers.marker_health import EXCHANGED, OUTLIER, SEGMENT
from tests.kernels.faults.scene import BODY, DT, N_MARKER, OPTIONS, Scene, new_scene

ASIDE = np.array([0.6, 0.0, -0.8])


@pytest.fixture
def scene() -> Scene:
    """The segments after a solution that is as usual."""
    found = new_scene()
    found.health.weight[:] = 1.0
    return found


def judge(scene: Scene) -> int:
    """Faults of the solution."""
    scene.health.fault[:] = 0
    return judge_solved(scene.markers, DT, OPTIONS.health, scene.health, scene.segments)


def test_a_leap_of_a_residual(scene: Scene) -> None:
    """Protects the bound of 5 mm and 0.3 m/s since the last good frame, and occluded markers."""
    scene.health.good[:] = 0.0
    scene.health.good_age[:] = [0.0, 0.0, 0.1, 0.1, 0.0, np.inf, 0.0, 0.29]
    scene.health.residual[:, 0] = [0.0049, 0.0051, 0.034, 0.036, np.nan, 1.0, 0.0, 0.1]
    found = [has_leapt(m, OPTIONS.health, scene.health) for m in range(N_MARKER)]
    assert found == [False, True, False, True, False, False, False, True]


def test_a_pose_that_leaps_leaves_no_doubt(scene: Scene) -> None:
    """Protects markers that are where they were foreseen, as where a knee goes to its other assembly: the
    frame is suspect, and nothing lingers."""
    for beside, found in ((0.0, SEGMENT), (0.0049, SEGMENT), (0.0051, OUTLIER), (np.nan, OUTLIER)):
        scene.segments.doubted[:] = 0.0
        scene.health.good[:], scene.health.good_age[:] = 0.0, -DT
        scene.health.residual[BODY == 0, 0] = 0.02
        scene.health.labelled[:] = scene.health.expected + beside * ASIDE
        assert judge(scene) == 5
        np.testing.assert_array_equal(scene.health.fault, np.where(BODY == 0, found, 0))
        np.testing.assert_allclose(scene.segments.doubted, [0.0 if found == SEGMENT else DT, 0.0])


def test_a_doubt_lasts_until_all_is_as_usual(scene: Scene) -> None:
    """Protects the flag: what begins at the whole bound ends at a part of it, or when learnt anew."""
    bound = OPTIONS.health.floor
    for doubted, part, found in (
        (0.0, 0.99, 0), (0.01, 0.99, 1), (0.01, 1.01 * SETTLED, 1), (0.01, 0.99 * SETTLED, 0),
        (OPTIONS.health.relearn + 1.0, 0.99, 0),
    ):  # fmt: skip
        scene.segments.doubted[0] = doubted
        scene.health.residual[2] = part * bound * ASIDE
        assert judge(scene) == found
        assert scene.health.fault[2] == (OUTLIER if found else 0)
        assert scene.segments.doubted[0] == pytest.approx(doubted + DT if found else 0.0)
        np.testing.assert_array_equal(scene.health.weight, 1.0)


@pytest.mark.parametrize(
    ("n_seen", "spread", "found"),
    [(100, 0.0, 1), (100, 0.009, 1), (100, 0.011, 0), (5, 0.011, 1), (0, 0.011, 1)],
)
def test_a_doubt_ends_where_a_marker_often_was(scene: Scene, n_seen: int, spread: float, found: int) -> None:
    """Protects recovery of persons whose markers are often farther from home than half of the bound."""
    health = scene.health
    scene.segments.doubted[0], health.n_seen[2], health.spread[2] = 0.2, n_seen, spread**2
    health.residual[2] = 0.03 * ASIDE
    assert SETTLED * OPTIONS.health.floor < 0.03 < OPTIONS.health.floor < OPTIONS.health.unknown
    health.mean[2] = 0.0 if n_seen == 100 else -0.01 * ASIDE
    if n_seen < 100:  # half of the bound of a marker that is not known is larger
        health.origin[2] = -0.03 * ASIDE
    assert judge(scene) == found


def test_a_doubt_ends_where_a_marker_was_before_it_was_known(scene: Scene) -> None:
    """Protects from a doubt that no frame can end: of a marker beside its place that has hardly been seen."""
    health, beside = scene.health, 0.03 * ASIDE
    for n_seen, at, found in ((0, beside, 1), (3, beside, 0), (3, beside - 0.021 * ASIDE, 1)):
        scene.segments.doubted[0], health.n_seen[2] = 0.2, n_seen
        health.residual[2], health.mean[2] = beside, at
        assert judge(scene) == found


def trial(scene: Scene, barred: int, frames: str) -> list[str]:
    """Status of frames after so many in which a marker was left out: "." as usual, "x" left out again."""
    health, found = scene.health, []
    for frame in "x" * barred + frames:
        health.weight[:] = 1.0
        health.fault[:] = 0
        if frame == "x":
            health.fault[1], health.weight[1] = OUTLIER, 0.0
        n = judge_solved(scene.markers, DT, OPTIONS.health, health, scene.segments)
        assert n == np.count_nonzero(health.fault)
        found.append("?" if n else ".")
    return found[barred:]


def test_a_marker_that_was_left_out_comes_back_on_trial(scene: Scene) -> None:
    """Protects from noise that is small now and then: the segment is suspect until nothing has been at fault
    for as long as the marker was left out, at most CALM; anew after each fault."""
    most = round(CALM / DT)
    assert most == 5
    for barred in (1, 2, 3, most, 40):
        assert "".join(trial(scene, barred, "." * 8)) == ("?" * (min(barred, most) - 1)).ljust(8, ".")
    assert "".join(trial(scene, 20, "...x....x.....")) == "?" * 13 + "."
    trial(scene, 3, "")
    scene.health.weight[:], scene.health.fault[:] = 1.0, 0
    judge_solved(scene.markers, DT, OPTIONS.health, scene.health, scene.segments)
    np.testing.assert_array_equal(scene.health.fault, np.where(BODY == 0, SEGMENT, 0))


def test_only_markers_that_were_astray_are_on_trial(scene: Scene) -> None:
    """Protects recovery from leaps of the pose, and from labels that are put right: at once."""
    for fault, weight in ((OUTLIER, 1.0), (EXCHANGED, 0.0), (SEGMENT, 1.0)):
        for _ in range(20):
            scene.health.weight[:], scene.health.fault[:] = 1.0, 0
            scene.health.fault[1], scene.health.weight[1] = fault, weight
            judge_solved(scene.markers, DT, OPTIONS.health, scene.health, scene.segments)
        assert scene.segments.doubted[0] > CALM
        assert trial(scene, 0, ".") == ["."]


def test_a_segment_that_nobody_sees_stays_in_doubt(scene: Scene) -> None:
    """Protects the flag: a gap is no proof."""
    scene.segments.doubted[:] = 0.2
    scene.health.weight[BODY == 1] = 0.0
    assert judge(scene) == 0
    np.testing.assert_array_equal(scene.segments.doubted, [0.0, 0.2])


def test_where_markers_came_back_nothing_leaps(scene: Scene) -> None:
    """Protects recovery: the pose leaps to a better one; to a worse one where others went as well."""
    scene.health.good[:] = 0.0
    scene.health.residual[:, 0] = 0.01
    for away, weight, found in ((0.0, 1.0, N_MARKER), (0.1, 1.0, 0), (0.1, 0.0, N_MARKER)):
        scene.health.good_age[:] = 0.0
        scene.segments.away[3], scene.health.weight[6] = away, weight
        assert judge(scene) == found


@pytest.mark.parametrize("known", [True, False])
def test_a_segment_that_is_off_as_a_whole(scene: Scene, known: bool) -> None:
    """Protects bumped clusters: the mean of their residuals, not the largest, and only of this segment."""
    scene.health.n_seen[:] = 100 if known else 0
    bound = BUMPED if known else OPTIONS.health.unknown
    for part, found in ((0.99, 0), (1.01, SEGMENT)):
        scene.health.residual[BODY == 1] = part * bound * ASIDE
        judge(scene)
        np.testing.assert_array_equal(scene.health.fault, np.where(BODY == 1, found, 0))


def test_only_the_most_unusual_is_left_out(scene: Scene) -> None:
    """Protects its neighbours, which it pulls along; segments that speak for themselves are not asked."""
    scene.segments.sound[:] = 1, 0
    scene.health.residual[[1, 5, 6]] = 0.9 * ASIDE, 0.05 * ASIDE, 0.06 * ASIDE
    for found in ([6], [5, 6], [5, 6]):
        weigh_worst(scene.markers, OPTIONS.health, scene.health, scene.segments)
        assert np.flatnonzero(scene.health.weight == 0.0).tolist() == found
    assert not weigh_worst(scene.markers, OPTIONS.health, scene.health, scene.segments)
    assert (scene.health.fault[[5, 6]] == OUTLIER).all()
    assert not (scene.health.fault == EXCHANGED).any()
