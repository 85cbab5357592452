"""Interface of a kind of joint for the model's files, tables and results: the record that every module of
rtsim/config/joint_kinds provides as KIND.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Directed = Callable[[Any], Array]
"""Function from an axis in a body's table to a unit vector (3,) in the joint's frame."""


class ChainStep(NamedTuple):
    """One rotation or translation of a joint that is a sequence ("chain") of them (kernels/joints/chain)."""

    rotates: bool
    axis: Array  # (3,) unit vector, in the frame as the steps before have moved it
    dof: int  # index of the joint's coordinate that determines its size
    function: Any = None  # FunctionSpec from the coordinate to the size; None = the coordinate itself


def nothing(body: Any, directed: Directed) -> Sequence[float]:
    """Return an empty list of parameters, for joint kinds without parameters.

    body : the body's table in the model file
    directed : function from an axis in this table to a unit vector in the joint's frame
    """
    return ()


def no_offset(numbers: Array) -> Array:
    """Return a zero offset, for joint kinds whose frames coincide in the neutral pose; numbers : parameters
    of the joint.
    """
    return np.zeros(3)


def along_none(body: Any, k: int) -> None:
    """Return None, for joint kinds without a coordinate that translates the body along an axis."""


def unscaled(body: Any, factors: Array) -> dict[str, Any]:
    """Return {}: no keys of the body change, for joint kinds without sizes that scale with its parent."""
    return {}


class JointKind(NamedTuple):
    """One kind of joint. The kernels know it by the constant in kernels/joints/kinds that has its name in
    capitals; a joint that is a sequence of rotations and translations (`steps`) has the constant CHAIN.

    angular : whether each of its named coordinates is an angle; None if the model's file states how many
        coordinates there are
    needs : required key of a body -> error text if it is missing
    keys : keys that only this kind has -> their type; empty if there are none
    parameter : function (body, directed) that returns the up to three numbers that describe the joint for the
        kernels, such as the unit axis of a hinge; `directed` converts an axis in the body's table to a unit
        vector in the joint's frame
    steps : function (body, directed) that returns the sequence of rotations and translations; None for kinds
        that are not defined by such a sequence
    neutral : values of the unnamed coordinates in the neutral pose
    offset : function of the parameters that returns the position (3,) of the frame on the child in that on
        the parent, in the neutral pose [m]
    translation : index, among the joint's coordinates, of the first of three translations along the axes of
        the frame on the parent; None = it has no such translations
    rotation : index of the first component of its unit quaternion among the joint's coordinates, and of its
        angular velocity among the joint's speeds; None = it has no quaternion
    slides : function (body, k) that returns the axis along which coordinate k translates the body
    mirrors : whether the mirrored joint is of the same kind (rtsim/models/both_sides)
    scaled : function (body, factors) that returns the keys of the body that change if its parent is scaled by
        the factors (3,)
    """

    angular: tuple[bool, ...] | None = ()
    needs: Mapping[str, str] = {}
    keys: Mapping[str, Any] = {}
    parameter: Callable[[Any, Directed], Sequence[float] | Array] = nothing
    steps: Callable[[Any, Directed], Sequence[ChainStep]] | None = None
    neutral: tuple[float, ...] = ()
    offset: Callable[[Array], Array] = no_offset
    translation: int | None = None
    rotation: tuple[int, int] | None = None
    slides: Callable[[Any, int], Any] = along_none
    mirrors: bool = False
    scaled: Callable[[Any, Array], dict[str, Any]] = unscaled
