"""The walker's frames and one estimator with all methods, started anew for each test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.stages.kinematics import Kinematics
from rtsim.subjects.both_sides import symmetric
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import walker_forces
from rtsim.subjects.subject import Subject, load_subject
from streams.codec import FieldLayout
from streams.messages import Session, marker_session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.live.test_with_forces import Analysed, analysed
from tests.rtsim.stages.both_legs import LEGS
from tests.rtsim.stages.solving import Solving

Array = NDArray[np.float64]


@pytest.fixture(scope="session")
def spec() -> ModelSpec:
    return load_model("lower_limb")


@pytest.fixture(scope="session")
def subject() -> Subject:
    return load_subject(find_config("walker", "subjects"))


@pytest.fixture(scope="session")
def trial(spec: ModelSpec, subject: Subject) -> MarkerTrial:
    """One second of walking at 100 Hz."""
    return walk(spec, subject, 1.0)


@pytest.fixture(scope="session")
def one_estimator(spec: ModelSpec, subject: Subject) -> MultibodyEstimator:
    allow_compilation()  # another test may have forbidden it
    estimator = MultibodyEstimator(spec, subject, "minimised", tuple(spec.methods))
    Kinematics(estimator, subject).warm()  # as every run does before its first frame
    return estimator


@pytest.fixture
def estimator(one_estimator: MultibodyEstimator) -> MultibodyEstimator:
    """By the method minimised; knows nothing yet."""
    one_estimator.switch("minimised")
    one_estimator.set_downweighting(True)
    one_estimator.restart()
    return one_estimator


@pytest.fixture
def session(trial: MarkerTrial) -> Session:
    """A marker session in metres, Y up, with the subject's markers in their order."""
    return marker_session(trial.names, rate=trial.rate, t_start=0)


@pytest.fixture(scope="session")
def make_frame() -> Callable[..., ReceivedFrame]:
    """A frame as the subscriber hands it over."""

    def make(session: Session, positions: Array, index: int = 0) -> ReceivedFrame:
        frame = ReceivedFrame(session, FieldLayout(session))
        frame.seq, frame.time = index, index / 100.0
        for array in frame.data.values():
            array[...] = positions
        return frame

    return make


@pytest.fixture
def make_solving(
    spec: ModelSpec, estimator: MultibodyEstimator, subject: Subject, session: Session
) -> Callable[..., Solving]:
    """The stages over a session; the estimator starts anew."""

    def make(of: Session | None = None, person: Subject | None = None) -> Solving:
        return Solving(spec, estimator, person or subject, of or session)

    return make


@pytest.fixture(scope="session")
def two(subject: Subject) -> tuple[ModelSpec, Subject, MarkerTrial, ForceTrial]:
    """The walker on both legs: model, person, markers, and forces of the plate under the right foot."""
    person, model = symmetric(subject), load_model("both_legs")
    trial = walk(model, person, 1.2)
    return model, person, trial, walker_forces(walk(load_model("lower_limb"), subject, 1.2))


@pytest.fixture(scope="session")
def whole(two: tuple[ModelSpec, Subject, MarkerTrial, ForceTrial]) -> Analysed:
    """The results of the walker on both legs, with all markers in all frames and every label at its own."""
    return analysed(*two, LEGS)
