"""The neutral pose without kernels, beside that of the kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernels.compiler.jit import allow_compilation
from kernels.joints.tree import new_pose, pose
from rtsim.config.joint_kinds import KINDS
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.models.neutral import neutral_lengths, neutral_places

from . import legs

KEYS = {
    "weld": {},
    "ball": {},
    "free": {},
    "ellipsoidal": {"radii_mm": [70.0, 120.0, 90.0]},
    "hinge": {"axis": [1.0, 2.0, 2.0], "coordinates": [{"name": "bend", "neutral_deg": 25.0}]},
    "slider": {"axis": [1.0, 2.0, -2.0], "coordinates": [{"name": "slide", "neutral_mm": 60.0}]},
    "universal": {
        "axes": ["u", [0.0, 3.0, 4.0]],
        "coordinates": [{"name": "first", "neutral_deg": 20.0}, {"name": "second", "neutral_deg": -35.0}],
    },
    "planar": {
        "axes": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        "coordinates": [
            {"name": "along", "neutral_mm": 30.0},
            {"name": "up", "neutral_mm": 900.0},
            {"name": "tilt", "neutral_deg": 10.0},
        ],
    },
    "custom": {
        "coordinates": [{"name": "flexion", "neutral_deg": 15.0}],
        "motion": [
            {"rotates": [0.0, 0.0, 1.0]},
            {
                "translates": [1.0, 0.0, 0.0],
                "spline": {"at": [-1.0, 0.0, 1.0, 2.0], "value": [0, 0.1, 0.3, 0]},
            },
            {"translates": [0.0, 1.0, 0.0], "linear": [0.2, 0.05]},
            {"rotates": [0.6, 0.8, 0.0], "polynomial": [0.1, -0.4, 0.7]},
            {"translates": [0.0, 0.0, 1.0], "sine": [0.1, 3.0, 0.2, 0.04]},
            {"rotates": [0.0, 1.0, 0.0], "constant": 0.3},
        ],
    },
}


def check(model: Model) -> None:
    """Bodies lie where the kernels put them."""
    position, rotation = neutral_places(model)
    at = new_pose(len(position), model.n_v, len(model.tree.chains.dof))
    pose(model.tree, model.q_neutral, at)
    np.testing.assert_allclose(position, at.position, atol=1e-12)
    np.testing.assert_allclose(rotation, at.rotation, atol=1e-12)


def test_every_kind_of_joint() -> None:
    """Protects what is told before kernels are there, of any joint: motions, frames on both bodies."""
    allow_compilation()
    assert KEYS.keys() == KINDS.keys()
    bodies = []
    for k, (kind, keys) in enumerate(KEYS.items()):
        frames = {
            "in_parent": {"offset_mm": [10.0 * k, 200.0, -30.0], "turned_deg": [20.0, -30.0, 10.0 * k]},
            "in_child": {"offset_mm": [-15.0, 40.0, 5.0 * k], "turned_deg": [-10.0 * k, 35.0, 50.0]},
        }
        parent = {"parent": bodies[-1]["name"]} if bodies else {}
        bodies.append({"name": f"body_{kind}", "joint": kind, **parent, **frames, **keys})
    check(build(check_record({"name": "all", "source": "", "bodies": bodies}, ModelSpec, "all kinds")))


def test_a_walker(tmp_path: Path) -> None:
    """Protects the feet of a model with its own markers: its coordinates start bent."""
    allow_compilation()
    check(build(legs.load(tmp_path)))


def test_published_models(shared: Path) -> None:
    """Protects OpenSim's models, with their custom joints, splines and couplers."""
    allow_compilation()
    for path in sorted((shared / "data/osim_models").glob("*.osim")):
        check(build(load_model(str(path))))


def test_the_knee_has_its_lengths_of_the_neutral_pose() -> None:
    """Protects the displacements shown of the knee, whose tibia begins far below; a pin has none."""
    assert neutral_lengths(build(load_model("knee"))) == (0.0, -0.006, 0.213)
    assert neutral_lengths(build(load_model("pin"))) == ()
