"""Samples of a curve that are left out of its picture."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.monitor.plots.drawn_points import N_LEVEL, drawn_points

TIME = np.arange(500) / 100.0


def drawn_again(row: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The curve through the samples that are drawn, at all times."""
    return np.interp(TIME, TIME[kept], row[kept])


def test_curve_through_fewer_points_is_the_same_picture():
    """Protects the looks of curves: no sample is further off what is drawn than the levels allow together."""
    noise = np.random.default_rng(1).normal(0.0, 0.02, len(TIME))
    rows = np.array([np.sin(2 * np.pi * TIME), np.sin(9 * TIME) + noise, np.sign(np.sin(3 * TIME))])
    tolerance = np.array([0.01, 0.01, 0.01])
    kept = drawn_points(TIME, rows, tolerance)
    for row, mask in zip(rows, kept, strict=True):
        assert np.abs(drawn_again(row, mask) - row).max() <= N_LEVEL * 0.01
    assert kept[0].sum() < len(TIME) / 4
    assert kept[1].sum() > len(TIME) / 2
    assert kept[:, [0, -1]].all()


def test_missing_values_and_their_neighbours_are_kept():
    """Protects gaps: a missing sample stays one, and the curve ends where it ended."""
    row = np.zeros(len(TIME))
    row[200:210] = np.nan
    kept = drawn_points(TIME, row[None], np.array([0.1]))[0]
    assert kept[199:211].all()
    assert not kept[:190].all()


def test_lone_peak_is_kept():
    """Protects peaks: a sample that stands out is drawn wherever it comes."""
    for at in range(240, 260):
        row = np.zeros(len(TIME))
        row[at] = 1.0
        assert drawn_points(TIME, row[None], np.array([0.1]))[0, at]


@pytest.mark.parametrize("step", [1, 7, 16])
def test_choice_moves_along_with_the_curve(step: int):
    """Protects curves from shimmering: of a window that moved on the same samples are left out."""
    whole = np.sin(7.0 * np.arange(600) / 100.0)[None]
    before = drawn_points(TIME, whole[:, :500], np.array([0.003]), 0)
    after = drawn_points(TIME, whole[:, step : 500 + step], np.array([0.003]), step)
    inside = slice(40, 440)
    np.testing.assert_array_equal(
        before[:, inside.start + step : inside.stop + step], after[:, inside.start : inside.stop]
    )


def test_sample_late_by_jitter_lies_on_its_line():
    """Protects unsteady streams: what is left out is judged by the times at which the samples stand."""
    time = TIME.copy()
    time[1::2] += 0.004
    kept = drawn_points(time, 3.0 * time[None], np.array([1e-9]))
    assert kept.sum() < len(TIME) / 8
