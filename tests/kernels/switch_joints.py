"""Every kind of a joint through every switch over joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import kernels.joints.tree
from kernels.dynamics.derivatives import new_derivative_work
from kernels.joints import kinds, tangent_rates
from kernels.joints.tree import Pose, Tree, new_pose
from rtsim.models.packing.tree import build_functions
from tests.kernels.switch_sources import kinds_of
from tests.naive import random_models

UNKNOWN = 99
"""A number that is no kind."""
Case = Callable[[int], Any]


@cache
def jointed() -> tuple[Tree, Any]:
    """A free body that carries one body on a joint of each kind, and coordinates."""
    rng = np.random.default_rng(5)
    own = tuple(range(len(kinds_of("joint"))))
    motions = {1 + kinds.CHAIN: random_models.custom(rng, 2)}
    table = build_functions(random_models.FUNCTIONS)
    tree = random_models.tree_of(rng, (kinds.FREE, *own), (-1, *len(own) * (0,)), motions, table)
    return tree, random_models.random_coordinates(rng, tree)


def joint(call: Callable[[Tree, Pose, int, SimpleNamespace], Any]) -> Case:
    """The case of a switch, called with tree, pose, body and vectors: what it returns, and the pose."""

    def case(kind: int) -> Any:
        tree, q = jointed()
        b = 1 + (kinds.HINGE if kind == UNKNOWN else kind)
        n_v, rng = len(tree.dof_body), np.random.default_rng(3)
        pose = new_pose(len(tree.parent), n_v, len(tree.chains.dof))
        kernels.joints.tree.pose(tree, q, pose)
        tree = tree._replace(kind=np.where(np.arange(len(tree.kind)) == b, kind, tree.kind))
        v = rng.normal(size=n_v)
        given = SimpleNamespace(q=q, v=v, w=rng.normal(size=6), x=rng.normal(size=(2, 6)), n_v=n_v)
        return [call(tree, pose, b, given), pose.position, pose.rotation, pose.twist]

    return case


def filled(call: Callable[..., Any], *shape: int) -> Callable[..., Any]:
    """The results of a kernel that writes into an array of ones of this shape, its last argument."""

    def run(*arguments: Any) -> Any:
        out = np.ones(shape)
        call(*arguments, out)
        return out

    return run


def twist_shifts(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> list[float]:
    dofs = range(tree.v_start[b], tree.v_start[b + 1])
    return [kinds.joint_twist_shift(tree, pose, b, d, e, x.w) for d in dofs for e in dofs]


def velocity(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> list[Any]:
    carried, bias = np.ones(6), np.ones(6)
    kinds.joint_velocity(tree, pose, b, x.v, np.ones(6), carried, bias)
    return [carried, bias]


def jerks(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> list[Any]:
    own = new_derivative_work(tree)
    kinds.joint_jerks(tree, pose, b, x.q, x.v, x.v, np.ones(6), own)
    return [own.psi_ddot, own.psi_s_dot]


def speeds(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> list[Any]:
    v, v_dot = x.v.copy(), x.v.copy()
    tangent_rates.joint_speeds(tree, b, 0.1 * x.v, v, v_dot)
    return [v, v_dot]


def square(call: Callable[..., Any]) -> Callable[..., Any]:
    """The results of a kernel that adds to a matrix (n_v, n_v), its last argument."""

    def run(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> Any:
        out = np.ones((x.n_v, x.n_v))
        call(tree, pose, b, x, out)
        return out

    return run


def of_dofs(call: Callable[..., Any]) -> Callable[..., Any]:
    """The results of a kernel that writes along the dofs (n_v,), or coordinates: its last argument."""

    def run(tree: Tree, pose: Pose, b: int, x: SimpleNamespace) -> Any:
        out = np.ones(max(x.n_v, len(x.q)))
        call(tree, pose, b, x, out)
        return out

    return run


JOINTS: dict[str, Case] = {
    "joint_motion": joint(lambda t, p, b, x: kinds.joint_motion(t, b, x.q, False, p)),
    "joint_twists": joint(lambda t, p, b, x: kinds.joint_twists(t, b, p)),
    "joint_step": joint(of_dofs(lambda t, p, b, x, out: kinds.joint_step(t, b, x.q, x.v, 0.1, out))),
    "joint_difference": joint(of_dofs(lambda t, p, b, x, out: kinds.joint_difference(t, b, x.q, x.q, out))),
    "joint_coordinates": joint(
        of_dofs(lambda t, p, b, x, out: kinds.joint_coordinates(t, b, np.eye(3), x.w[:3], out))
    ),
    "joint_velocity": joint(velocity),
    "joint_twist_rates": joint(
        lambda t, p, b, x: filled(kinds.joint_twist_rates, x.n_v, 6)(t, p, b, x.v, x.w.copy())
    ),
    "joint_twist_shift": joint(twist_shifts),
    "joint_jerks": joint(jerks),
    "joint_within": joint(square(lambda t, p, b, x, out: kinds.joint_within(t, p, b, x.w, out))),
    "order_joint": joint(square(lambda t, p, b, x, out: kinds.order_joint(t, p, b, 1.0, x.w, out))),
    "joint_speeds": joint(speeds),
    "joint_local_rate": joint(
        of_dofs(lambda t, p, b, x, out: tangent_rates.joint_local_rate(t, b, 0.1 * x.v, x.v, out))
    ),
    "joint_local_solve": joint(
        of_dofs(lambda t, p, b, x, out: tangent_rates.joint_local_solve(t, b, x.v, 9.0, 1.0, x.v, out))
    ),
}
