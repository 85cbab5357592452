"""Quantities over the gait cycle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from rtsim.files.recording import Results
from rtsim.methods.gait.cycle_curves import (
    PERCENT,
    averaged,
    curves_over,
    deviation_of,
    mean_of,
    over_cycle,
    straight,
    turned,
)
from rtsim.methods.gait.cycles import GaitCycle
from streams.messages import FieldSpec, Status
from tests.naive.gait_cycle import slow_mean_and_deviation, slow_over_cycle
from tests.rtsim.methods.gait.test_cycles import walk


def with_angles(*labels: str) -> tuple[Results, FieldSpec]:
    """A walk with angles that rise by one radian a second, and their field."""
    results = walk()
    spec = FieldSpec("joint_angles", (len(labels),), "rad", labels, joints=tuple(("hip_r",) for _ in labels))
    session = structs.replace(results.session, fields=(*results.session.fields, spec))
    values = np.repeat(results.times[:, None], len(labels), axis=1)
    return results._replace(session=session, fields={**results.fields, "joint_angles": values}), spec


def test_a_curve_over_a_cycle_is_that_of_a_slow_twin() -> None:
    """Protects resampling: at 101 points from strike to strike, by straight lines between frames."""
    random = np.random.default_rng(1)
    times = np.cumsum(random.uniform(0.005, 0.015, 200))
    values = random.normal(size=200)
    values[80] = np.nan
    fast = over_cycle(times, values, 0.31, 1.44)
    np.testing.assert_allclose(fast, slow_over_cycle(times, values, 0.31, 1.44), rtol=0.0, atol=1e-12)
    assert np.isnan(fast).any()
    assert not np.isnan(fast).all()
    outside = over_cycle(times, values, -0.5, 0.5)
    assert np.isnan(outside[:40]).all()
    assert np.isfinite(outside[-1])


def test_filtered_values_are_read_where_they_belong() -> None:
    """Protects moments and powers over the cycle: the delay of the run's filter is taken off, and nothing
    else is moved, nor anything by a delay that nobody can mean."""
    results, spec = with_angles("knee_flexion_r")
    late = structs.replace(spec, name="joint_moments", meaning="joint moments; filtered")
    fields = {**results.fields, "joint_moments": results.fields["joint_angles"] - 0.04}

    def first(delay_s: object, of: FieldSpec) -> float:
        meta = {**results.session.meta, "rates": {"delay_s": delay_s}}
        session = structs.replace(results.session, fields=(*results.session.fields, late), meta=meta)
        told = results._replace(session=session, fields=fields)
        (curve,) = curves_over(told, of, [GaitCycle("right", 1.0, 2.0)])
        return float(curve.values[0, 0])

    assert first([0.04] * 3, late) == pytest.approx(1.0)
    assert first([0.04] * 3, spec) == pytest.approx(1.0)
    for other in (
        structs.replace(late, meaning="time derivatives of coordinates, at the same instant; for rotations"),
        structs.replace(late, meaning="standard deviation of joint_moments", of="joint_moments"),
    ):
        assert first([0.04] * 3, other) == pytest.approx(1.0)
    for odd in (None, [], "0.04", [float("nan")], [-1.0], [1e9], ["x"]):
        assert first(odd, late) == pytest.approx(0.96)


def test_a_frame_at_a_point_needs_no_neighbour() -> None:
    """Protects the ends of a cycle: a value beside an unknown one is known where a frame lies."""
    times = np.arange(5.0)
    values = np.array([0.0, 1.0, np.nan, 3.0, 4.0])
    got = over_cycle(times, values, 0.0, 1.0)
    assert got[-1] == 1.0
    assert over_cycle(times, values, 3.0, 4.0)[0] == 3.0


def test_mean_and_deviation_over_strides_are_those_of_a_slow_twin() -> None:
    """Protects both from strides that are not known everywhere, whatever is missing in which."""
    random = np.random.default_rng(2)
    for case in range(30):
        rows = random.normal(size=(int(random.integers(1, 7)), 101))
        rows[random.uniform(size=len(rows)) < 0.05 * case, 60:] = np.nan
        rows[random.uniform(size=len(rows)) < 0.03 * case, 30] = np.nan
        mean, deviation, used = slow_mean_and_deviation(rows)
        if len({tuple(np.isfinite(row)) for row in rows if np.isfinite(row).sum() == 101 - 41}) > 1:
            continue  # as many at other points: any of them will do
        np.testing.assert_allclose(mean_of(rows), mean, atol=1e-12)
        np.testing.assert_allclose(deviation_of(rows), deviation, atol=1e-12)
        assert np.flatnonzero(averaged(rows)).tolist() == used


def test_a_stride_that_ends_half_way_does_not_make_the_mean_jump() -> None:
    """Protects means: a stride 20 off that ends at 50 % would pull the mean of the first half alone."""
    rows = np.array([np.full(101, 1.0), np.full(101, 3.0), np.full(101, 22.0)])
    rows[2, 51:] = np.nan
    np.testing.assert_array_equal(mean_of(rows), np.full(101, 2.0))
    np.testing.assert_allclose(deviation_of(rows), np.full(101, math.sqrt(2.0)), atol=1e-12)
    assert averaged(rows).tolist() == [True, True, False]


def test_where_no_stride_is_whole_the_mean_is_of_those_known_farthest() -> None:
    """Protects moments of strides that leave the plates: one set of strides, nothing where it ends."""
    rows = np.full((4, 101), np.nan)
    rows[0, :50], rows[1, :80], rows[2, :80], rows[3, :0] = 9.0, 1.0, 3.0, 5.0
    mean = mean_of(rows)
    np.testing.assert_array_equal(mean[:80], np.full(80, 2.0))
    assert np.isnan(mean[80:]).all()
    assert averaged(rows).tolist() == [False, True, True, False]
    assert np.isnan(mean_of(rows[3:])).all()


def test_each_curve_of_several_has_strides_of_its_own() -> None:
    """Protects the monitor's means, which are made for all of its curves at once."""
    rows = np.random.default_rng(5).normal(size=(3, 2, 101))
    rows[0, 1, 40:] = np.nan
    np.testing.assert_allclose(mean_of(rows)[0], rows[:, 0].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(mean_of(rows)[1], rows[1:, 1].mean(axis=0), atol=1e-12)


def test_each_leg_is_read_over_its_own_cycles() -> None:
    """Protects sides: a leg's angle over its strides, one without a side over those of both."""
    results, spec = with_angles("hip_flexion_r", "hip_flexion_l", "pelvis_rotation")
    cycles = [GaitCycle("right", 1.3, 2.4), GaitCycle("left", 1.85, 2.95), GaitCycle("right", 2.4, 3.5)]
    found = {(c.name, c.side): c for c in curves_over(results, spec, cycles)}
    assert set(found) == {(n, s) for n in ("hip_flexion", "pelvis_rotation") for s in ("right", "left")}
    right = found[("hip_flexion", "right")]
    np.testing.assert_allclose(right.values[0], 1.3 + 0.011 * PERCENT, atol=1e-9)
    np.testing.assert_allclose(right.mean, 1.85 + 0.011 * PERCENT, atol=1e-9)
    assert np.isnan(found[("hip_flexion", "left")].deviation).all()


def test_flagged_values_are_kept_and_not_averaged() -> None:
    """Protects a mean from frames that a flag regards; the stride shows them."""
    results, spec = with_angles("hip_flexion_r", "hip_flexion_l")
    results.status[200:205] = int(Status.NOT_CONVERGED)
    curve = curves_over(results, spec, [GaitCycle("right", 1.3, 2.4)])[0]
    assert np.isfinite(curve.values).all()
    assert np.isnan(curve.mean[65])
    assert np.isfinite(curve.mean[20])


@pytest.mark.parametrize(("degrees", "is_turn"), [(0.0, False), (15.0, False), (25.0, True)])
def test_strides_of_a_turn_are_told(degrees: float, is_turn: bool) -> None:
    """Protects means of level walking from strides round a corner."""
    results = walk()
    angle = np.where(results.times < 3.0, 0.0, np.clip((results.times - 3.0) / 1.0, 0.0, 1.0))
    angle = np.radians(degrees) * angle
    c, s = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([c, 0 * c, s], -1), np.stack([0 * c, 1 + 0 * c, 0 * c], -1),
                     np.stack([-s, 0 * c, c], -1)], axis=1)  # fmt: skip
    rotations = results.fields["segment_rotations"]
    rotations[:, 0] = turn @ rotations[:, 0]
    cycles = [GaitCycle("right", 1.0, 2.1), GaitCycle("right", 2.95, 4.05)]
    assert turned(results, cycles[1]) == pytest.approx(math.radians(degrees), abs=1e-6)
    kept, sentence = straight(results, cycles)
    assert len(kept) == 2 - is_turn
    assert bool(sentence) == is_turn
    alone, told = straight(results, cycles[1:])
    assert len(alone) == 1
    assert ("all 1" in told) == is_turn
