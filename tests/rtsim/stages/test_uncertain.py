"""Frames whose numbers hang on too little: flagged, with which angles, in every method."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.kinematics import VAGUE
from streams.messages import Status
from tests.rtsim.stages.solving import Solved, Solving

Array = NDArray[np.float64]

METHODS = ("minimised", "zero", "prescribed", "hinge", "ball", "free")
BEGIN = 40
LIMIT = np.radians(5.0)


@pytest.fixture(scope="module")
def stated(spec, subject) -> MultibodyEstimator:
    allow_compilation()
    return MultibodyEstimator(spec, subject, METHODS[0], METHODS[1:], uncertainty=Uncertainty())


@pytest.fixture
def follow(stated, spec, subject, session, make_frame):
    """Frames of the trial by a method, the markers of some rows hidden from frame BEGIN on."""

    def run(method: str, positions: Array) -> tuple[Solving, list[Solved]]:
        stated.switch(method)
        stated.restart()
        solving = Solving(spec, stated, subject, session)
        return solving, [solving.solve(make_frame(session, x, k)) for k, x in enumerate(positions)]

    return run


def field(solving: Solving, frame: Solved, name: str) -> Array:
    """One field of a frame."""
    return np.frombuffer(frame.data[name])


def hidden(trial: MarkerTrial, rows: NDArray[np.intp] | list[int]) -> Array:
    positions = trial.positions.copy()
    positions[BEGIN:, rows] = np.nan
    return positions


@pytest.mark.parametrize("method", METHODS)
def test_clean_frames_are_certain(method: str, follow, trial: MarkerTrial) -> None:
    """Protects from false alarms: a walk with all its markers has every deviation below the limit."""
    solving, frames = follow(method, trial.positions)
    assert {frame.status for frame in frames} == {Status.OK}
    for frame in frames:
        deviation = field(solving, frame, "joint_angles_deviation")
        assert (deviation.reshape(-1, 3) <= np.radians([5.0, 5.0, 7.5])).all()
        assert (field(solving, frame, "joint_angles_mask") == 0.0).all()
    assert (deviation > np.radians(0.01)).any()


@pytest.mark.parametrize("method", METHODS)
def test_leg_without_thigh_and_shank_is_uncertain(method: str, follow, trial, subject, stated) -> None:
    """Protects from knees that fold to the other side: uncertain at once, with which angles, and never ok."""
    bodies = np.array([stated.model.names.bodies[b] for b in stated.model.markers.body])
    solving, frames = follow(method, hidden(trial, np.flatnonzero(np.isin(bodies, ["thigh", "shank"]))))
    knee = stated.model.names.joint_angles.index("knee_flexion")
    for k, frame in enumerate(frames):
        assert bool(frame.status & Status.UNCERTAIN) == (k >= BEGIN)
        assert field(solving, frame, "joint_angles_mask")[knee] == float(k >= BEGIN)
    counters, told = solving.kinematics.collect()
    assert counters[VAGUE] == len(frames) - BEGIN
    assert any("knee_flexion" in sentence for sentence in told)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_left", [4, 6, None])
def test_frames_of_few_markers_are_not_called_ok_when_wrong(
    method: str, n_left: int | None, follow, trial: MarkerTrial, subject
) -> None:
    """Protects the flag: with six or four markers left, or 60 % missing at random, no wrong pose is ok."""
    _, clean = follow(method, trial.positions)
    expected = np.array([np.frombuffer(frame.data["joint_angles"]) for frame in clean])
    n_marker, rng = trial.positions.shape[1], np.random.default_rng(2)
    for _ in range(3):
        positions = trial.positions.copy()
        if n_left is None:
            positions[BEGIN:][rng.random(positions[BEGIN:].shape[:2]) < 0.6] = np.nan
        else:
            positions[BEGIN:, rng.permutation(n_marker)[n_left:]] = np.nan
        _, frames = follow(method, positions)
        found = np.array([np.frombuffer(frame.data["joint_angles"]) for frame in frames])
        fine = np.array([frame.status == Status.OK for frame in frames])
        gap = np.abs(found - expected)[:, ::3].max(axis=1)
        assert fine[:BEGIN].all()
        assert not fine[BEGIN:].all()
        assert gap[fine].max() < 2.0 * LIMIT


def test_frames_that_are_no_person_have_no_deviations(follow, trial: MarkerTrial) -> None:
    """Protects from deviations beside numbers that are not of the frame: NaN, masked, and not `uncertain`."""
    positions = trial.positions[:5].copy()
    positions[4] *= 1000.0
    solving, frames = follow("minimised", positions)
    assert frames[4].status == Status.INVALID_INPUT
    assert np.isnan(field(solving, frames[4], "joint_angles_deviation")).all()
    assert (field(solving, frames[4], "joint_angles_mask") == 1.0).all()


def test_angles_that_these_markers_leave_uncertain_are_told_before_the_first_frame(
    stated, spec, subject, session
) -> None:
    """Protects who records from a thousand frames that are all uncertain: said with angles and remedy, by
    the method in use, and of a person with enough markers nothing.
    """
    stated.switch("free")
    assert not Solving(spec, stated, subject, session).kinematics.collect()[1]
    thigh = subject.segments["thigh"]
    few = dict(zip(thigh.markers_mm, ((0.0, -100.0, 40.0), (0.0, -350.0, 45.0)), strict=False))  # along it
    lean = msgspec.structs.replace(
        subject, segments={**subject.segments, "thigh": msgspec.structs.replace(thigh, markers_mm=few)}
    )
    estimator = MultibodyEstimator(spec, lean, "free", ("zero",), uncertainty=Uncertainty())
    stage = Solving(spec, estimator, lean, session).kinematics
    (said,) = stage.collect()[1]
    assert said.startswith(
        "With these markers the method free leaves angles uncertain in every frame; more markers on "
        "the adjacent segments, or another method, would help: hip_internal_rotation ("
    )  # what would do before the list: of both legs the sentence is longer than may be told
    assert "zero" not in said
    stage.orders["set_method"].apply({"method": "zero"})
    assert not stage.collect()[1]
    stage.orders["set_method"].apply({"method": "free"})
    assert stage.collect()[1] == [said]
    assert "more markers on the adjacent segments, or another method, would help: hip" in said
    alone = MultibodyEstimator(spec, lean, "free", uncertainty=Uncertainty())
    (said,) = Solving(spec, alone, lean, session).kinematics.collect()[1]
    assert said.find("more markers on the adjacent segments would help: ") > 0
