"""One frame from the marker input to the wire: statuses, gaps and recovery."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernels.markers.marker_health import OUTLIER
from rtsim.methods.kinematics.multibody import Solution
from rtsim.stages.poses.solution_status import status_of
from streams.messages import Status

SOLVED = Solution(converged=True, iterations=3, residual=1e-14, n_open=0, n_visible=17, n_swap=0, n_fault=0)


@pytest.mark.parametrize(
    ("change", "plausible", "expected"),
    [
        ({}, True, Status.OK),
        ({"n_open": 3}, True, Status.DEGRADED),
        ({"n_visible": 0}, True, Status.DEGRADED),
        ({"converged": False}, True, Status.NOT_CONVERGED),
        ({"n_fault": 2}, True, Status.SUSPECT),
        ({"converged": False, "n_open": 1}, True, Status.DEGRADED | Status.NOT_CONVERGED),
        ({"converged": False}, False, Status.INVALID_INPUT),
    ],
)
def test_status_bits(change, plausible, expected):
    """Protects the meaning of each bit."""
    assert status_of(SOLVED._replace(**change), plausible) == expected


@pytest.mark.parametrize("method", ["zero", "minimised", "prescribed", "hinge", "ball", "free"])
def test_every_method_solves_the_walker(make_solving, make_frame, session, trial, estimator, method):
    """Protects the whole way, method by method: solved to the tolerance, millimetres from the markers."""
    estimator.switch(method)
    solving = make_solving()
    for index in range(0, 100, 4):
        result = solving.solve(make_frame(session, trial.positions[index], index))
        assert result.status == Status.OK
        assert result.iterations > 0
        assert result.residual < 1e-10
        assert result.t_solved > 0
        assert 0.0 < solving.fields.arrays["marker_rms"][0] < 0.012
    arrays = solving.fields.arrays
    assert not any(np.isnan(array).any() for name, array in arrays.items() if name != "moment_arms")
    labels = next(spec.labels for spec in solving.fields.session.fields if spec.name == "joint_angles")
    flexions = [labels.index(name) for name in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")]
    assert np.isfinite(arrays["moment_arms"][:, flexions]).all()
    assert solving.muscles.counters["failed_paths"] == 0


def test_a_shank_and_foot_out_of_sight_are_degraded_and_come_back(make_solving, make_frame, session, trial):
    """Protects occlusion: flagged while it lasts, ages counted, and ok on the first whole frame after it."""
    solving = make_solving()
    shank = slice(9, 17)
    ages = []
    for index in range(60):
        positions = trial.positions[index].copy()
        hidden = 20 <= index < 40
        if hidden:
            positions[shank] = np.nan
        result = solving.solve(make_frame(session, positions, index))
        assert result.status == (Status.DEGRADED if hidden else Status.OK), index
        arrays = solving.fields.arrays
        assert np.isnan(arrays["marker_residuals"][shank]).all() == hidden
        assert (arrays["marker_weights"][shank] == (0.0 if hidden else 1.0)).all()
        assert np.isfinite(arrays["joint_angles"]).all()
        assert np.isfinite(arrays["markers_model"]).all()
        ages.append(arrays["marker_gap_age"][10])
    assert ages[20:40] == pytest.approx([0.01 * (k + 1) for k in range(20)])
    assert ages[40] == 0.0


@pytest.mark.parametrize("gap", [[6], [9, 10, 11, 12, 13]], ids=["one marker", "all of the shank"])
def test_gaps_that_the_joints_bridge_are_no_degradation(make_solving, make_frame, session, trial, gap):
    """Protects against needless flags: thigh and foot hold the shank, the pose hardly moves."""
    arrays = []
    for hide in (False, True):
        solving = make_solving()
        for index in range(10):
            positions = trial.positions[index].copy()
            if hide and index == 9:
                positions[gap] = np.nan
            result = solving.solve(make_frame(session, positions, index))
        assert result.status == Status.OK
        arrays.append(solving.fields.arrays["joint_angles"].copy())
    assert 0.0 < np.degrees(np.abs(arrays[1] - arrays[0])).max() < 3.0


def test_nothing_to_be_seen_is_flagged(make_solving, make_frame, session, trial):
    """Protects against silent old values: a frame without any marker, first or later, is flagged."""
    solving = make_solving()
    empty = np.full_like(trial.positions[0], np.nan)
    first = solving.solve(make_frame(session, empty, 0))
    assert first.status & Status.DEGRADED
    assert solving.solve(make_frame(session, trial.positions[1], 1)).status == Status.OK
    later = solving.solve(make_frame(session, empty, 2))
    assert later.status & Status.DEGRADED
    assert math.isnan(solving.fields.arrays["marker_rms"][0])
    assert solving.solve(make_frame(session, trial.positions[3], 3)).status == Status.OK


def test_a_marker_gone_astray_is_weighed_down_and_named(make_solving, make_frame, session, trial):
    """Protects the pose from one marker on the wrong track, and the user from not knowing which."""
    poses = []
    for astray in (0.0, 0.3):
        solving = make_solving()
        for index in range(40):
            positions = trial.positions[index].copy()
            if index == 39:
                positions[7] += astray
            result = solving.solve(make_frame(session, positions, index))
            assert result.status == (Status.SUSPECT if index == 39 and astray else Status.OK)
        poses.append(solving.fields.arrays["joint_angles"].copy())
    weights = solving.fields.arrays["marker_weights"]
    assert weights[7] == 0.0
    assert (np.delete(weights, 7) == 1.0).all()
    faults = solving.fields.arrays["marker_fault"]
    assert faults[7] == OUTLIER
    assert not np.delete(faults, 7).any()
    assert any(solving.kinematics.estimator.model.names.markers[7] in s for s in solving.kinematics.sentences)
    assert np.degrees(np.abs(poses[1] - poses[0])).max() < 3.0


def test_without_down_weighting_a_stray_marker_counts(make_solving, make_frame, session, trial, estimator):
    """Protects the switch: off means that every visible marker weighs 1."""
    estimator.set_downweighting(False)
    solving = make_solving()
    for index in range(40):
        positions = trial.positions[index].copy()
        if index == 39:
            positions[7] += 0.3
        solving.solve(make_frame(session, positions, index))
    assert (solving.fields.arrays["marker_weights"] == 1.0).all()


def test_exchanged_labels_are_named(make_solving, make_frame, session, trial):
    """Protects the user from two labels that were swapped: each names the other."""
    solving = make_solving()
    for index in range(40):
        positions = trial.positions[index].copy()
        if index >= 30:
            positions[[5, 6]] = positions[[6, 5]]
        solving.solve(make_frame(session, positions, index))
    partners = solving.fields.arrays["marker_swap_with"]
    assert (partners[5], partners[6]) == (6.0, 5.0)
    assert (np.delete(partners, [5, 6]) == -1.0).all()


def test_labels_that_stay_exchanged_are_put_right_and_ok(make_solving, make_frame, session, trial):
    """Protects trials with two labels exchanged to the end: told, put right, the same numbers as without,
    and no frame flagged for it; one that is exchanged before anything is known is flagged."""
    angles = []
    for first in (30, 200):
        solving = make_solving()
        for index in range(60):
            positions = trial.positions[index].copy()
            if index >= first:
                positions[[5, 6]] = positions[[6, 5]]
            assert solving.solve(make_frame(session, positions, index)).status == Status.OK
        angles.append(solving.fields.arrays["joint_angles"].copy())
        assert solving.kinematics.counters["labels_put_right"] == max(0, 60 - first)
        assert not solving.kinematics.counters["labels_exchanged"]
        assert any("put right" in said for said in solving.kinematics.sentences) == (first < 60)
    assert np.degrees(np.abs(angles[1] - angles[0])).max() < 1e-6
    solving = make_solving()
    for index in range(10):
        positions = trial.positions[index].copy()
        if index >= 5:
            positions[[5, 6]] = positions[[6, 5]]
        result = solving.solve(make_frame(session, positions, index))
        assert (result.status == Status.OK) == (index < 5)


def test_time_that_stands_still_or_runs_back_does_no_harm(make_solving, make_frame, session, trial):
    """Protects against clocks of sources: equal, falling and leaping times are solved all the same."""
    solving = make_solving()
    for index, time in enumerate([0.0, 0.0, 0.01, 0.005, -3.0, 1e9, 1e9 + 0.01]):
        frame = make_frame(session, trial.positions[index], index)
        frame.time = time
        assert solving.solve(frame).status == Status.OK


def test_times_of_any_size_give_finite_results(make_solving, make_frame, session, trial):
    """Protects against absurd times in frames with gaps: ages and all else stay finite."""
    solving = make_solving()
    hidden = trial.positions[0].copy()
    hidden[9:] = np.nan
    for index, time in enumerate([0.0, 1.7e308, -1.7e308, 1.7e308, 0.0, 5e-324]):
        frame = make_frame(session, hidden if index % 2 else trial.positions[index], index)
        frame.time = time
        result = solving.solve(frame)
        assert not result.status & Status.NOT_CONVERGED
        for name in ("joint_angles", "marker_gap_age", "marker_weights", "segment_positions"):
            assert np.isfinite(solving.fields.arrays[name]).all(), name


def test_the_same_frames_give_the_same_bytes(make_solving, make_frame, session, trial):
    """Protects repeatability: a replay gives the very same results."""
    runs = []
    for _ in range(2):
        solving = make_solving()
        runs.append([solving.solve(make_frame(session, trial.positions[i], i)).data for i in range(5)])
    assert runs[0] == runs[1]
