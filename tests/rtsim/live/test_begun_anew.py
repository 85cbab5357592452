"""Recordings one after the other through the same stages: arguments of kernels that stay in place are those
of the session at hand, whatever came before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.recording import Results
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import Stage
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject

SPEC, SUBJECT = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
TRIAL = walk(SPEC, SUBJECT, 0.6)
FORCES = walker_forces(TRIAL)
RUN = RunConfig(name="test", method="minimised", methods=("zero", "minimised"), mass_kg=MASS_KG)


@pytest.fixture(autouse=True)
def _permitted() -> None:
    allow_compilation()


def follow(stages: Sequence[Stage], feed: ForceFeed, trial: MarkerTrial, forces: ForceTrial) -> Results:
    """A recording through the stages."""
    kept = KeptResults()
    Loop(RecordingInput(trial, forces=forces, feed=feed), stages, kept).run()
    found = kept.results()
    assert found is not None
    return found


def plates(n: int) -> ForceTrial:
    """The walker's plate n times side by side, each with its part of the load, and some noise."""
    rng = np.random.default_rng(n)
    beside = np.arange(n)[:, None, None] * [0.0, 0.0, 0.7]
    force, moment = (
        np.repeat(a, n, axis=1) / n + rng.normal(0.0, 2.0, (len(a), n, 3))
        for a in (FORCES.force, FORCES.moment)
    )
    return force_trial(
        RawForces(
            tuple(f"plate {k}" for k in range(n)), FORCES.times, FORCES.rate, FORCES.corners + beside,
            np.zeros(n), force, moment, "made up", (),
        )
    )  # fmt: skip


def disturbed() -> MarkerTrial:
    """The walk with labels in another order, gaps, exchanged labels and places that no marker has."""
    rng = np.random.default_rng(1)
    order = rng.permutation(len(TRIAL.names))
    positions = TRIAL.positions[:, order] + rng.normal(0.0, 2e-3, TRIAL.positions.shape)
    positions[rng.random(positions.shape[:2]) < 0.05] = np.nan
    positions[20:30, [1, 2]] = positions[20:30, [2, 1]]
    positions[40:, 3] += 1e6
    return TRIAL._replace(names=tuple(TRIAL.names[k] for k in order), positions=positions)


def test_nothing_is_left_of_what_came_before() -> None:
    """Protects from arrays that are read where they lay before: other plates, methods, labels, faults."""
    feed, other = ForceFeed(), ForceFeed()
    first = follow(make_stages(RUN, SPEC, SUBJECT, feed, MASS_KG), feed, TRIAL, FORCES)
    stages = make_stages(RUN, SPEC, SUBJECT, other, MASS_KG)
    kinematics = stages[0]
    assert isinstance(kinematics, Kinematics)
    for n, method in ((3, "zero"), (1, "minimised")):
        kinematics.estimator.switch(method)
        kinematics.estimator.set_downweighting(n == 1)
        follow(stages, other, disturbed(), plates(n))
    kinematics.estimator.switch("minimised")
    kinematics.estimator.set_downweighting(True)
    again = follow(stages, other, TRIAL, FORCES)
    assert np.nanmax(first.fields["foot_loads"]) > 0.8 * 9.81 * MASS_KG
    assert np.isfinite(first.fields["joint_moments_deviation"]).mean() > 0.5
    np.testing.assert_array_equal(again.status, first.status)
    for name, values in first.fields.items():
        np.testing.assert_array_equal(again.fields[name], values, err_msg=name)
