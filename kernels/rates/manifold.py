"""The space in which filtered coordinates lie: plain numbers, and unit quaternions of ball and free joints.

A filter is linear in tangent steps, the small rotations and displacements from a base pose; kernels/joints
converts the rates of these steps into speeds.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import entry, njit
from kernels.joints.kinds import CHAIN
from kernels.joints.tangent_rates import joint_speeds
from kernels.joints.tree import Tree, difference, integrate

OK, SETTLING, RESTARTED, IGNORED = 0, 1, 2, 3
"""Status of a frame. OK; SETTLING: too soon after a start for the stated delay; RESTARTED: the first frame,
or the first after too long a gap or after the clock was set back, which is taken as at rest; IGNORED: not
finite, or not later than the last frame, and no result is changed."""


class Manifold(NamedTuple):
    """The part of a joint tree that determines how coordinates change with tangent steps (small rotations and
    displacements).
    """

    parent: np.ndarray  # (n_body,) int64 - only its length is used
    kind: np.ndarray  # (n_body,) int64
    q_start: np.ndarray  # (n_body + 1,) int64
    v_start: np.ndarray  # (n_body + 1,) int64


class Rates(NamedTuple):
    """Filtered coordinates with their speeds and accelerations, all at the same time in the past."""

    q: Annotated[np.ndarray, Floats("n_q")]
    v: Annotated[np.ndarray, Floats("n_v")]
    v_dot: Annotated[np.ndarray, Floats("n_v")]


def manifold_of(tree: Tree) -> Manifold:
    """Return the Manifold of the coordinates of a joint tree."""
    return Manifold(tree.parent, tree.kind, tree.q_start, tree.v_start)


def plain(n: int) -> Manifold:
    """Return the Manifold of n plain numbers that belong to no joint, such as the forces and moments of force
    plates.
    """
    return Manifold(*(np.array(rows, np.int64) for rows in ([-1], [CHAIN], [0, n], [0, n])))


def new_rates(n_q: int, n_v: int) -> Rates:
    """Allocate Rates for n_q coordinates and n_v speeds."""
    return allocate(Rates, n_q=n_q, n_v=n_v)


@njit
def is_usable(t, q):
    """Return whether a frame is usable: time t and coordinates q : (n_q,) are finite."""
    usable = np.isfinite(t)
    for i in range(q.shape[0]):
        usable = usable and np.isfinite(q[i])
    return usable


@njit
def at_rest(q, q_out, v_out, v_dot_out):
    """Write a pose at rest: copy q into q_out : (n_q,), and set v_out, v_dot_out : (n_v,) to 0."""
    for i in range(q.shape[0]):
        q_out[i] = q[i]
    for d in range(v_out.shape[0]):
        v_out[d], v_dot_out[d] = 0.0, 0.0


@entry
def reflect(manifold, centre, q, step, q_out):
    """Write the pose that lies as far beyond the pose `centre` as the pose q lies before it: q, reflected at
    centre by tangent steps.

    manifold : Manifold - the part of a joint tree that determines tangent steps of coordinates
    centre, q : (n_q,) - two poses
    step : (n_v,) - working space
    q_out : (n_q,) - centre moved by minus the tangent step from it to q, written
    """
    difference(manifold, centre, q, step)
    integrate(manifold, centre, step, -1.0, q_out)


@njit
def to_child_frames(manifold, step, v, v_dot):
    """Convert the time derivatives of a tangent step into generalized speeds and accelerations at its end, in
    place; those of rotations are in the axes of the rotated body (the child).

    step : (n_v,) - the tangent step
    v, v_dot : (n_v,) - first and second time derivative of the step, replaced by speeds and accelerations
    """
    for b in range(manifold.kind.shape[0]):
        joint_speeds(manifold, b, step, v, v_dot)
