"""RMSD, squared correlation, magnitude and phase of curves whose agreement is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.methods.agreement import agreement, cycles_of, humps, opening_over_closing, over_cycles

TIMES = np.arange(1000) / 100.0
CURVE = np.sin(2.0 * np.pi * TIMES)


def test_equal_curves_agree() -> None:
    """Protects the zeros: no distance, all of the variance, neither magnitude nor phase."""
    assert agreement(CURVE, CURVE) == pytest.approx((0.0, 1.0, 0.0, 0.0), abs=1e-7)


def test_magnitude_and_phase_are_told_apart() -> None:
    """Protects Sprague and Geer's: half as large is M = -0.5, a twelfth of a cycle late is P = 1/6."""
    half = agreement(CURVE, 0.5 * CURVE)
    assert half[2:] == pytest.approx((-0.5, 0.0), abs=1e-7)
    assert half.rmsd == pytest.approx(0.5 * math.sqrt(0.5))
    late = agreement(CURVE, np.sin(2.0 * np.pi * TIMES - np.pi / 6.0))
    assert late[2:] == pytest.approx((0.0, 1.0 / 6.0), abs=1e-9)
    assert late.r2 == pytest.approx(math.cos(np.pi / 6.0) ** 2)
    assert agreement(CURVE, -CURVE).phase == pytest.approx(1.0)


def test_what_is_not_defined_is_no_number() -> None:
    """Protects tables: unknown frames are left out, constant curves have no correlation."""
    holes = CURVE.copy()
    holes[::7] = np.nan
    assert agreement(CURVE, holes).rmsd == 0.0
    assert math.isnan(agreement(np.ones(10), np.arange(10.0)).r2)
    assert all(math.isnan(x) for x in agreement(CURVE, np.full(1000, np.nan)))


def test_cycles_are_whole_and_averaged() -> None:
    """Protects means and deviations: five cycles of a movement, each by itself."""
    cycles = cycles_of(TIMES, 0.5, start_s=0.3)
    assert [(c.start, c.stop) for c in cycles] == [(30, 230), (230, 430), (430, 630), (630, 830)]
    found = over_cycles(CURVE, 1.1 * CURVE, cycles_of(TIMES, 1.0))
    assert len(cycles_of(TIMES, 1.0)) == 5
    assert found.mean.magnitude == pytest.approx(0.1)
    assert found.deviation.magnitude == pytest.approx(0.0, abs=1e-12)
    one = over_cycles(CURVE, 1.1 * CURVE, cycles_of(TIMES, 1.0)[:1])
    assert one.mean.magnitude == pytest.approx(0.1)
    assert np.isnan(one.deviation).all()  # not 0, which would be told as a figure


def test_humps_of_a_cycle_are_counted_across_its_ends() -> None:
    """Protects what is told of shapes: a hump that begins before the end, two, not small ones."""
    phase = 2.0 * np.pi * np.arange(100) / 100.0
    assert humps(np.cos(phase)) == 1
    assert humps(np.cos(phase) + np.cos(2.0 * phase)) == 2
    assert humps(np.cos(phase) + 0.05 * np.cos(20.0 * phase)) == 1


def test_opening_and_closing_are_told_by_the_way_of_the_condyle() -> None:
    """Protects the comparison of both halves of a cycle: twice the force on the way out."""
    phase = 2.0 * np.pi * (np.arange(100) + 0.5) / 100.0
    forwards = -np.cos(phase)
    assert opening_over_closing(np.where(phase < np.pi, 2.0, 1.0), forwards) == pytest.approx(2.0, rel=0.03)
