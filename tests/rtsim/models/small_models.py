"""Small made-up models as text, and what the kernels make of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from kernels.dynamics.constraints import constraint_rows, new_constraint_work
from kernels.joints.tree import Pose, new_pose, pose
from kernels.solver.constraints import Roles
from rtsim.config.load import check_record, parse_toml
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.model import Model, build

Array = NDArray[np.float64]
HEAD = 'name = "m"\nsource = "made up"\n'
ROOT = '[[bodies]]\nname = "base"\njoint = "weld"\nin_parent = { offset_mm = [0.0, 1000.0, 0.0] }\n'
MIXED = (
    ROOT
    + """
[[bodies]]
name = "pelvis"
joint = "free"
[[bodies]]
name = "thigh"
parent = "pelvis"
joint = "ball"
[[bodies]]
name = "shank"
parent = "thigh"
joint = "hinge"
axis = "w"
coordinates = [{ name = "knee", neutral_deg = 20.0, range_deg = [0.0, 120.0] }]
[[bodies]]
name = "foot"
parent = "shank"
joint = "planar"
axes = ["u", "v"]
coordinates = [{ name = "x", neutral_mm = 4.0 }, { name = "y", range_mm = [-10.0, 20.0] }, { name = "turn" }]
"""
)


def read(text: str) -> ModelSpec:
    return check_record(parse_toml(HEAD + text, "mine.toml"), ModelSpec, "mine.toml")


def built(text: str) -> Model:
    return build(read(text))


def placed(model: Model, q: Array) -> Pose:
    """The pose at the coordinates q."""
    tree = model.tree
    at = new_pose(len(tree.parent), model.n_v, len(tree.chains.dof))
    pose(tree, q, at)
    return at


def about(axis: str, angle: float) -> Array:
    return Rotation.from_euler(axis, angle).as_matrix()


def phi(model: Model, roles: Roles, q: Array) -> Array:
    """Values of all hard constraints at the coordinates q."""
    constraints = model.constraints(roles)
    work = new_constraint_work(constraints, model.n_v)
    n = constraint_rows(model.tree, constraints, placed(model, q), q, work)
    return work.value[:n]
