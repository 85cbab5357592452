"""One model for markers, dynamics and moment arms: what needs a person, what markers cannot follow."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernels.tree import CHAIN
from rtsim.config.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.methods.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.subjects.subject import Subject, load_subject
from rtsim.subjects.walker import walk

from .small_models import ROOT, built, read


@pytest.fixture(scope="module")
def leg() -> tuple[ModelSpec, Subject]:
    return load_model("lower_limb"), load_subject(find_config("walker", "subjects"))


def changed(spec: ModelSpec, name: str, **change: object) -> ModelSpec:
    """The model with one body changed."""
    bodies = tuple(msgspec.structs.replace(b, **change) if b.name == name else b for b in spec.bodies)
    return msgspec.structs.replace(spec, bodies=bodies)


def test_what_only_a_subject_has_is_asked_for():
    """Protects models with anatomy: built without a subject they name the place that needs one."""
    text = (
        ROOT
        + '[[muscles]]\nname = "m"\npath = [{ segment = "base" }, { segment = "base", origin = "distal" }]'
    )
    with pytest.raises(ConfigError, match=r"muscles\.m: .* subject"):
        built(text)
    with pytest.raises(ConfigError, match=r"unknown method 'best'.*default"):
        build(read(ROOT), None, "best")


def test_markers_are_not_followed_through_functions(leg):
    """Protects marker methods from joints they do not know: functions and couplers are refused by body."""
    spec, subject = leg
    motion = [{"rotates": "w", "linear": [2.0, 0.0]}]
    knee = msgspec.convert({"name": "shank", "joint": "custom", "motion": motion}, type(spec.bodies[0]))
    custom = changed(spec, "shank", joint="custom", motion=knee.motion)
    with pytest.raises(ConfigError, match=r"bodies\.shank: .*functions"):
        MultibodyEstimator(custom, subject, "zero")
    assert build(custom, subject, "hinge").tree.kind[2] != CHAIN  # the method's own joint
    hinged = changed(spec, "shank", joint="hinge")
    coupled = msgspec.to_builtins(hinged)
    coupled["couplers"] = [{"coordinate": "shank", "constant": 0.1}]
    with pytest.raises(ConfigError, match=r"bodies\.shank: .*coordinate shank follows a coupler"):
        MultibodyEstimator(msgspec.convert(coupled, ModelSpec), subject, "zero")


def test_markers_are_followed_through_a_chain_of_axes(leg):
    """Protects universal joints in marker methods: frames are solved, the axes stay square."""
    spec, subject = leg
    model = changed(spec, "foot", joint="universal", axes=((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    trial = walk(spec, subject, 0.2)
    model = msgspec.structs.replace(model, methods={"hinge": msgspec.convert(
        {"joints": {"shank": "hinge"}}, type(spec.methods["hinge"]))})  # fmt: skip
    estimator = MultibodyEstimator(model, subject, "hinge")
    columns = [trial.names.index(name) for name in estimator.model.names.markers]
    for frame in trial.positions[:, columns]:
        assert estimator.estimate(np.ascontiguousarray(frame), 0.01).converged
    rotation = estimator.pose[1]
    relative = rotation[2].T @ rotation[3]
    assert abs(relative[2, 0]) < 1e-12  # z of the shank and x of the foot
    assert abs(relative[2, 1]) > 1e-3  # while nothing else is zero by chance
