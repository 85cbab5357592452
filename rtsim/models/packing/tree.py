"""Joints, written one by one into the tables of kernels/joints/tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernels.algebra.functions import CONSTANT, LINEAR, POLYNOMIAL, SINE, SPLINE, Functions
from kernels.joints.kinds import CHAIN, LAYOUTS
from kernels.joints.motions import DRIVEN, JointSizes
from kernels.joints.tree import Chains, Tree

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ChainMotion:
    """One rotation about, or translation along, a fixed axis, for a joint that is a sequence ("chain") of
    such motions. Its size is one of the joint's coordinates or a function of it.
    """

    rotates: bool
    axis: Array  # (3,) unit
    dof: int = 0  # the joint's coordinate that drives it
    function: int = -1  # row of the functions; -1 = the coordinate itself


@dataclass(frozen=True)
class JointRow:
    """A body and the joint that carries it, to be written as one row of the arrays of a Tree
    (kernels/joints/tree).

    parent : index of the parent body, -1 = ground; kind, parameter : kind of the joint, and its parameters
    position_in_parent, rotation_in_parent : the joint's frame on the parent, (3,) [m] and (3, 3)
    position_in_child, rotation_in_child : the joint's frame on the body
    motions : successive rotations and translations, for a joint that is a sequence ("chain") of them
    """

    parent: int
    kind: int
    parameter: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))  # (3,)
    position_in_parent: Array = field(default_factory=lambda: np.zeros(3))
    rotation_in_parent: Array = field(default_factory=lambda: np.eye(3))
    position_in_child: Array = field(default_factory=lambda: np.zeros(3))
    rotation_in_child: Array = field(default_factory=lambda: np.eye(3))
    motions: tuple[ChainMotion, ...] = ()  # of a chain

    @property
    def layout(self) -> JointSizes:
        """Numbers of coordinates and speeds of the joint; those of a sequence follow from its motions."""
        if self.kind != CHAIN:
            return LAYOUTS[self.kind]
        n = 1 + max(motion.dof for motion in self.motions)
        own = [[m for m in self.motions if m.dof == d] for d in range(n)]
        dofs = [
            int(motions[0].rotates) if len(motions) == 1 and motions[0].function < 0 else DRIVEN
            for motions in own
        ]
        return JointSizes(n, tuple(dofs), tuple(range(n)))

    @property
    def n_q(self) -> int:
        return self.layout.n_q

    @property
    def n_v(self) -> int:
        return len(self.layout.dofs)


def build_tree(joints: Sequence[JointRow], functions: Functions | None = None) -> Tree:
    """Build a Tree, the arrays that describe all bodies and joints to kernels; every joint's parent comes
    before it."""
    n = len(joints)
    dof_body: list[int] = []
    dof_parent: list[int] = []
    dof_rotates: list[int] = []
    dof_group: list[int] = []
    last_dof = np.full(n, -1, np.int64)
    for b, joint in enumerate(joints):
        last = last_dof[joint.parent] if joint.parent >= 0 else -1
        layout, first = joint.layout, len(dof_body)
        for rotates, group in zip(layout.dofs, layout.group, strict=True):
            dof_group.append(first + layout.group.index(group))
            dof_parent.append(int(last))
            last = len(dof_body)
            dof_body.append(b)
            dof_rotates.append(rotates)
        last_dof[b] = last
    in_parent = np.array([joint.rotation_in_parent for joint in joints])
    in_child = np.array([joint.rotation_in_child for joint in joints])
    placed = [
        [joint.parent < 0 or not is_identity(joint.rotation_in_parent),
         bool(joint.position_in_child.any()) or not is_identity(joint.rotation_in_child)]
        for joint in joints
    ]  # fmt: skip
    return Tree(
        parent=np.array([joint.parent for joint in joints], np.int64),
        kind=np.array([joint.kind for joint in joints], np.int64),
        q_start=np.cumsum([0, *(joint.n_q for joint in joints)]).astype(np.int64),
        v_start=np.cumsum([0, *(joint.n_v for joint in joints)]).astype(np.int64),
        parameter=np.array([joint.parameter for joint in joints], float),
        position_in_parent=np.array([joint.position_in_parent for joint in joints], float),
        rotation_in_parent=in_parent,
        position_in_child=np.array([joint.position_in_child for joint in joints], float),
        rotation_in_child=in_child,
        placed=np.array(placed, np.int64).reshape(-1, 2),
        dof_body=np.array(dof_body, np.int64),
        dof_parent=np.array(dof_parent, np.int64),
        dof_rotates=np.array(dof_rotates, np.int64),
        dof_group=np.array(dof_group, np.int64),
        last_dof=last_dof,
        chains=build_chains(joints),
        functions=functions if functions is not None else build_functions(()),
    )


def is_identity(R: Array) -> bool:
    return np.array_equal(R, np.eye(3))


def build_chains(joints: Sequence[JointRow]) -> Chains:
    motions = [motion for joint in joints for motion in joint.motions]
    return Chains(
        np.cumsum([0, *(len(joint.motions) for joint in joints)]).astype(np.int64),
        np.array([motion.rotates for motion in motions], np.int64),
        np.array([motion.axis for motion in motions], float).reshape(-1, 3),
        np.array([motion.dof for motion in motions], np.int64),
        np.array([motion.function for motion in motions], np.int64),
    )


@dataclass(frozen=True)
class Function:
    """A function of one coordinate: the code of its kind, such as SPLINE (kernels/algebra/functions), the
    number of its terms, and its parameters in the order in which the kernels read them.
    """

    kind: int
    count: int
    numbers: tuple[float, ...]


def constant(value: float) -> Function:
    return Function(CONSTANT, 1, (value,))


def linear(slope: float, intercept: float = 0.0) -> Function:
    return Function(LINEAR, 2, (slope, intercept))


def polynomial(coefficients: Sequence[float]) -> Function:
    """Return the polynomial with these coefficients, lowest power first."""
    return Function(POLYNOMIAL, len(coefficients), tuple(coefficients))


def sine(amplitude: float, omega: float, phase: float, offset: float) -> Function:
    """Return the function amplitude sin(omega x + phase) + offset."""
    return Function(SINE, 4, (amplitude, omega, phase, offset))


def lines(x: Sequence[float], y: Sequence[float]) -> Function:
    """Return the piecewise linear function through the points (x, y), x rising, as a spline whose second
    derivatives are zero."""
    return Function(SPLINE, len(x), (*x, *y, *(0.0 for _ in x)))


def spline(x: Sequence[float], y: Sequence[float], ends: str = "natural") -> Function:
    """Return the cubic spline through (x, y), x rising; two knots make a straight line.

    The second derivatives M solve the tridiagonal system of de Boor (1978), A Practical Guide to
    Splines, chapter IV: continuity of the slope at the inner knots. At both ends M = 0 ("natural"), or the
    third derivative is that of the cubic through the four knots there ("cubic"; with three knots M is one
    number): Forsythe, Malcolm, Moler (1977), Computer Methods for Mathematical Computations, section 4.4.
    """
    from scipy.linalg import solve_banded  # a quarter of a second that models without splines need not wait

    n = len(x)
    h, slope = np.diff(x), np.diff(y) / np.diff(x)
    M = np.zeros(n)
    if n > 2:
        # above, on and below the diagonal: a recorded motion has thousands of knots
        bands, b = np.zeros((3, n)), np.zeros(n)
        bands[1] = 1.0
        bands[0, 2:], bands[1, 1:-1], bands[2, :-2] = h[1:] / 6.0, (h[:-1] + h[1:]) / 3.0, h[:-1] / 6.0
        b[1:-1] = np.diff(slope)
        if ends == "cubic":
            bands[0, 1] = bands[2, -2] = -1.0
            if n > 3:
                b[0] = -h[0] * third_derivative(x[:4], y[:4])
                b[-1] = h[-1] * third_derivative(x[-4:], y[-4:])
        M[:] = solve_banded((1, 1), bands, b)
    return Function(SPLINE, n, (*x, *y, *M))


def third_derivative(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the third derivative of the cubic through four points: six times their divided difference."""
    difference = np.array(y, float)
    for order in (1, 2, 3):
        difference = np.diff(difference) / (np.array(x[order:]) - np.array(x[: 4 - order]))
    return 6.0 * float(difference[0])


def build_functions(functions: Sequence[Function]) -> Functions:
    return Functions(
        np.array([f.kind for f in functions], np.int64),
        np.cumsum([0, *(len(f.numbers) for f in functions)])[:-1].astype(np.int64),
        np.array([f.count for f in functions], np.int64),
        np.array([number for f in functions for number in f.numbers], float),
    )
