"""Warm-up and the collector: nothing compiles and nothing is collected while frames arrive."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.live.compiled.warm_up import neutral, warm_up
from rtsim.live.processes.gc_control import gc_paused
from rtsim.stages.kinematics import Kinematics
from streams.messages import marker_session

ROOT = Path(__file__).resolve().parents[4]

ONE_RUN = """
import numpy as np
from kernels.compiler.jit import n_compiled
from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.processes.serve import prepare
from rtsim.live.inputs.sources import load_trial
from rtsim.live.result_session import ResultSession
from streams.codec import FieldLayout
from streams.messages import marker_session
from streams.receiving.ring import ReceivedFrame

stages = prepare(RunConfig(name="test"))
estimator = stages[0].estimator
before = n_compiled()
assert before > 0
trial = load_trial("walker", 0.5)
for method in estimator.methods:
    estimator.switch(method)
    for up in ("Y", "Z"):
        session = marker_session(trial.names, rate=100.0, t_start=0, unit="m", up=up)
        course = ResultSession(stages, session, {})
        frame = ReceivedFrame(session, FieldLayout(session))
        for index, positions in enumerate(trial.positions):
            frame.time = index / 100.0
            frame.data["positions"][...] = positions
            if index % 7 == 3:
                frame.data["positions"][9:] = np.nan
            if index % 11 == 5:
                frame.data["positions"][[5, 6]] = positions[[6, 5]]
            if index % 13 == 7:
                frame.data["positions"][7] += 0.4
            course.message(frame, course.run(frame), index, 0)
assert n_compiled() == before, (before, n_compiled())
print("nothing compiled")
"""


@pytest.mark.process
def test_nothing_compiles_after_the_warm_up():
    """Protects the first frames of every kind from a compiler that stops the loop for seconds."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_RUN],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "nothing compiled"


def test_a_warm_estimator_knows_nothing(estimator, subject, trial):
    """Protects the first real frame from what the made-up frames of the warm-up left behind."""
    estimator.estimate(trial.positions[0].copy(), 0.0)
    cold = estimator.outputs.angles.copy()
    estimator.switch("zero")
    try:
        kinematics = Kinematics(estimator, subject)
        session = marker_session(subject.marker_names, rate=100.0, t_start=0)
        warm_up([kinematics], session, neutral(kinematics.estimator))
    finally:
        allow_compilation()
    assert estimator.method == "zero"
    assert (estimator.health.n_seen == 0).all()
    estimator.switch("minimised")
    estimator.estimate(trial.positions[0].copy(), 0.0)
    np.testing.assert_array_equal(estimator.outputs.angles, cold)


@pytest.fixture
def nothing_frozen():
    """The collector as a program finds it at its start; after the test what tests have frozen is so again."""
    gc.unfreeze()
    yield
    gc.freeze()


def test_the_collector_rests_and_comes_back(nothing_frozen):
    """Protects the loop from collections, and the process after it from none at all."""
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_the_program_froze_stays_frozen():
    """Protects a program, as these tests are, that keeps its large, lasting objects from collections: a
    run inside does not give them back, after which each collection would go through all of them.
    """
    gc.freeze()
    n_frozen = gc.get_freeze_count()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == n_frozen


def test_the_collector_comes_back_after_a_failure(nothing_frozen):
    """Protects the process when a run fails."""
    with pytest.raises(RuntimeError, match="the run failed"), gc_paused():
        raise RuntimeError("the run failed")
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
