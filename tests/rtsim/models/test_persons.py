"""One model for markers, dynamics and moment arms: what needs a person, what markers cannot follow."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import Subject, load_subject

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


def own_knee(spec, motion, coordinates=(), couplers=()):
    """The leg on a custom knee that this motion makes, held by no element."""
    model = msgspec.to_builtins(changed(spec, "shank", joint="hinge"))
    shank = next(body for body in model["bodies"] if body["name"] == "shank")
    shank |= {"joint": "custom", "axis": None, "motion": motion}
    shank["coordinates"] = [{"name": name} for name in coordinates]
    model["methods"], model["couplers"] = {"custom": {}}, list(couplers)
    return msgspec.convert(model, ModelSpec)


IDLE = {"translates": "v", "of": "idle"}
"""A motion that never moves: with it, this test calls the solver that the next one compiles, too."""


def test_markers_are_followed_through_functions(leg):
    """Protects custom joints in marker methods: a turn of 2 q, and a shift that goes with it."""
    spec, subject = leg
    motion = [
        {"rotates": "w", "of": "shank", "linear": [2.0, 0.0]},
        {"translates": "u", "of": "shank", "polynomial": [0.001, 0.004, 0.002]},
        IDLE,
    ]
    still = ("shank", "idle"), [{"coordinate": "idle", "constant": 0.0}]
    estimator = MultibodyEstimator(own_knee(spec, motion, *still), subject, "custom")
    turning = [{"rotates": "w", "of": "shank"}, IDLE]
    plain = MultibodyEstimator(own_knee(spec, turning, *still), subject, "custom")
    trial = walk(spec, subject, 0.2)
    columns = [trial.names.index(name) for name in estimator.model.names.markers]
    knee = estimator.model.tree.q_start[2]
    for frame in trial.positions[:, columns]:
        assert estimator.estimate(np.ascontiguousarray(frame), 0.01).converged
        assert plain.estimate(np.ascontiguousarray(frame), 0.01).converged
        # soft tissue hides a shift of a few millimetres, no more than that
        assert 2.0 * estimator.q[knee] == pytest.approx(plain.q[knee], abs=0.02)
        assert abs(estimator.q[knee]) > 0.02


def test_markers_are_followed_with_couplers(leg):
    """Protects followers in marker methods: two knee motions, one given by the other, one prescribed."""
    spec, subject = leg
    motion = [
        {"rotates": "w", "of": "flexion"},
        {"rotates": "v", "of": "rotation"},
        {"translates": "v", "of": "gap"},
    ]
    couplers = [
        {"coordinate": "rotation", "of": "flexion", "polynomial": [0.0, 0.1, 0.05]},
        {"coordinate": "gap", "constant": 0.002},
    ]
    estimator = MultibodyEstimator(
        own_knee(spec, motion, ("flexion", "rotation", "gap"), couplers), subject, "custom"
    )
    trial = walk(spec, subject, 0.2)
    columns = [trial.names.index(name) for name in estimator.model.names.markers]
    knee = estimator.model.tree.q_start[2]
    for frame in trial.positions[:, columns]:
        solution = estimator.estimate(np.ascontiguousarray(frame), 0.01)
        assert solution.converged
        assert solution.residual <= 1e-11
        flexion, rotation, gap = estimator.q[knee : knee + 3]
        assert rotation == pytest.approx(0.1 * flexion + 0.05 * flexion**2, abs=1e-14)
        assert gap == 0.002


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
