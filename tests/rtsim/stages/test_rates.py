"""Filtered motion in a run: before it has settled, as the clock is set back, and of segments found again."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.stages.rates import CLOCK
from streams.messages import Status
from tests.rtsim.live.test_with_forces import RUN, analysed
from tests.rtsim.stages.both_legs import LEGS

Array = NDArray[np.float64]
MOTION = msgspec.structs.replace(RUN, stages=("kinematics", "rates"))
MOVED = ("coordinates", "coordinate_speeds", "coordinate_accelerations")
HIDDEN = slice(30, 55)
"""Frames in which segments have no markers, for longer than markers are filled in."""


def test_nothing_is_told_of_a_motion_before_the_filter_has_settled(spec, subject, trial) -> None:
    """Protects from a motion at rest that nobody measured, and from the motion of an earlier frame where the
    newest one has no pose: both looked like any other."""
    positions = trial.positions.copy()
    positions[60:62] += 1e8
    seen = analysed(spec, subject, trial._replace(positions=positions), None, MOTION)
    known = np.isfinite(seen.fields["coordinates"]).all(axis=1)
    assert not known[:18].any()
    assert known[20:60].all()
    assert not known[60:62].any()
    assert seen.counters["unfiltered"] == (~known).sum()
    for name in MOVED:
        np.testing.assert_array_equal(np.isfinite(seen.fields[name]), known[:, None].repeat(
            seen.fields[name].shape[1], axis=1
        ))  # fmt: skip


@pytest.mark.parametrize(("frames", "by_s"), [(slice(50, 51), 3600.0), (slice(50, None), -100.0)])
def test_times_that_go_back_are_told_and_the_motion_goes_on(spec, subject, trial, frames, by_s) -> None:
    """Protects a run from the first damaged stamp on: its loads would stay away in silence."""
    times = trial.times.copy()
    times[frames] += by_s
    whole = analysed(spec, subject, trial, None, MOTION)
    seen = analysed(spec, subject, trial._replace(times=times), None, MOTION)
    assert seen.counters["times_went_back"] == 1
    assert CLOCK in seen.sentences
    assert "times_went_back" in whole.counters
    assert whole.counters["times_went_back"] == 0
    for name in MOVED:
        scale = np.nanmax(np.abs(whole.fields[name]))
        np.testing.assert_allclose(seen.fields[name][-10:], whole.fields[name][-10:], atol=0.02 * scale)


@pytest.mark.parametrize("hidden", [("thigh_r", "shank_r"), ("shank_r", "foot_r"), ("foot_r",)], ids=str)
def test_a_segment_that_is_found_again_is_not_told_until_its_filter_has_settled(two, whole, hidden) -> None:
    """Protects a wearer from moments under status ok that are made of the step from the held pose to the one
    that is found: what is told is right, the other leg goes on as it was, and all is told again soon."""
    model, person, trial, forces = two
    own = [trial.names.index(name) for part in hidden for name in person.segments[part].markers_mm]
    positions = trial.positions.copy()
    positions[HIDDEN, own] = np.nan
    seen = analysed(model, person, trial._replace(positions=positions), forces, LEGS)
    assert (seen.status[HIDDEN.stop - 5 : HIDDEN.stop] & Status.DEGRADED).all()
    assert np.isfinite(seen.fields["coordinates"][HIDDEN]).all()
    after = np.flatnonzero((seen.status == 0) & (np.arange(len(trial.times)) >= HIDDEN.stop))
    assert np.isnan(seen.fields["coordinates"][after[:15]]).any(axis=1).all()
    moments, right = seen.fields["joint_moments"], whole.fields["joint_moments"]
    n = moments.shape[1] // 2
    assert np.isnan(moments[after[:15], :n]).all()
    assert np.isfinite(moments[after[-20:]]).all()
    off = np.abs(moments - right)[after]
    assert np.nanmax(off) < 0.05 * np.nanmax(np.abs(right))
    assert np.isfinite(moments[after, n:]).all()
    off = np.abs(seen.fields["joint_angle_speeds"] - whole.fields["joint_angle_speeds"])[after, :n]
    assert np.nanmax(off) < 0.2
    assert np.isnan(seen.fields["residual_force"][after[:15]]).all()


def test_a_pelvis_that_is_found_again_settles_with_all_that_it_carries(two, whole) -> None:
    """Protects hips and legs from the step of the pelvis: what the solver holds is a rotation of one thigh,
    though the pelvis is what no marker shows."""
    model, person, trial, forces = two
    own = [trial.names.index(name) for name in person.segments["pelvis"].markers_mm]
    positions = trial.positions.copy()
    positions[HIDDEN, own] = np.nan
    seen = analysed(model, person, trial._replace(positions=positions), forces, LEGS)
    after = np.flatnonzero((seen.status == 0) & (np.arange(len(trial.times)) >= HIDDEN.stop))
    for field, error in (("joint_moments", 1.0), ("joint_angle_speeds", 0.1), ("joint_powers", 5.0)):
        found, right = seen.fields[field], whole.fields[field]
        assert np.isnan(found[after[:15]]).all(), field
        assert np.isfinite(found[after[-20:]]).all(), field
        assert np.nanmax(np.abs(found - right)[after]) < error, field


def test_a_leg_that_is_never_seen_disturbs_nothing(two, whole) -> None:
    """Protects runs of a person one of whose legs has no markers: no filter takes a step, nothing is NaN."""
    model, person, trial, forces = two
    left = [k for k, name in enumerate(trial.names) if name not in person.segments["pelvis"].markers_mm]
    left = [k for k in left if trial.names[k].startswith("L")]
    positions = trial.positions.copy()
    positions[:, left] = np.nan
    seen = analysed(model, person, trial._replace(positions=positions), forces, LEGS)
    n = whole.fields["joint_moments"].shape[1] // 2
    own = np.isfinite(whole.fields["joint_moments"][:, :n])
    np.testing.assert_array_equal(np.isfinite(seen.fields["joint_moments"][:, :n]), own)
