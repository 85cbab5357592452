"""Damage by the laboratory and by programs: what it makes of the markers that it touches."""

import numpy as np
import pytest

from benchmarks.damage.kinds import laboratory, software, timing
from tests.rtsim.bench.damage.drawn import GROUPS, SEEDS, a_scene, changed, draw, shifts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reflection_stands_in_the_room(seed):
    """Protects the class from a point that goes along: it shakes by a millimetre about one place."""
    found = draw(laboratory.ghost_taken, seed)
    (marker,) = np.flatnonzero(changed(found).any(axis=0))
    points = found.positions[found.first : found.stop, marker]
    assert points.std(axis=0) == pytest.approx([1e-3] * 3, rel=0.6)
    begin = a_scene().positions[found.first, marker]
    assert np.linalg.norm(points.mean(axis=0) - begin) == pytest.approx(0.04, abs=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_remounted_marker_has_a_gap_and_is_elsewhere(seed):
    found = draw(laboratory.marker_remounted, seed)
    gone = np.isnan(found.positions).any(axis=2).sum(axis=1)
    assert gone[found.first : found.first + 30].tolist() == [1] * 30
    assert gone.sum() == 30
    assert np.nanmax(shifts(found)) == pytest.approx(0.015)


@pytest.mark.parametrize("seed", SEEDS)
def test_exchanged_plates_keep_their_points(seed):
    """Protects the class from points that nobody measured: two segments have each other's, no others."""
    found, before = draw(laboratory.plates_exchanged, seed), a_scene().positions
    touched = np.flatnonzero(changed(found).any(axis=0))
    assert len({GROUPS[m] for m in touched}) == 2
    np.testing.assert_array_equal(np.sort(found.positions[9], axis=0), np.sort(before[9], axis=0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_filled_curve_begins_and_ends_with_the_path(seed):
    """Protects the classes of filled gaps: between their ends nothing was measured, at their ends it was."""
    for damage in (software.gap_filled_by_line, software.gap_filled_by_curve):
        found, before = draw(damage, seed), a_scene().positions
        (marker,) = np.flatnonzero(changed(found).any(axis=0))
        inside = found.positions[found.first - 1 : found.stop + 1, marker]
        steps = np.linalg.norm(np.diff(inside, axis=0), axis=1)
        assert steps.max() < 3.0 * np.linalg.norm(np.diff(before[:, marker], axis=0), axis=1).max()
        assert np.abs(np.diff(inside, 4, axis=0))[1:-1].max() < 2e-3


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mirrored_marker_keeps_its_distances_to_those_of_the_mirror(seed):
    found, before = draw(software.marker_mirrored, seed), a_scene().positions
    (marker,) = np.flatnonzero(changed(found).any(axis=0))
    others = [m for m, group in enumerate(GROUPS) if group == GROUPS[marker] and m != marker]
    k = found.first
    for m in others:
        apart = np.linalg.norm(found.positions[k, marker] - found.positions[k, m])
        assert apart == pytest.approx(np.linalg.norm(before[k, marker] - before[k, m]), rel=1e-9)


def test_time_is_stretched_evenly():
    for seed in SEEDS:
        times = draw(timing.time_stretched, seed).times
        steps = np.diff(times)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
        assert round(steps[0] * 100.0, 6) in timing.STRETCHES
