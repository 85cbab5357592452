"""Description of a kind of joint for the model's files, tables and results: the row that every module of
the folder rtsim/config/joint_kinds provides as KIND.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Directed = Callable[[Any], Array]
"""An axis of a body's table -> (3,) unit, in the joint's frame."""


class ChainStep(NamedTuple):
    """One elementary motion of a chain (kernels/joints/chain)."""

    rotates: bool
    axis: Array  # (3,) unit, in the frame reached so far
    dof: int  # which coordinate of the joint drives it
    function: Any = None  # FunctionSpec by which it does


def nothing(body: Any, directed: Directed) -> Sequence[float]:
    """Return no numbers: for kinds of joints whose kernels read no numbers."""
    return ()


def no_offset(numbers: Array) -> Array:
    """Return no offset: for kinds of joints whose frames coincide in the neutral position."""
    return np.zeros(3)


def along_none(body: Any, k: int) -> None:
    """Return None: for kinds of joints without a coordinate that moves the body along an axis of
    its table."""


def unscaled(body: Any, factors: Array) -> dict[str, Any]:
    """Return no changes: for kinds of joints without sizes of their own."""
    return {}


class JointKind(NamedTuple):
    """One kind of joint; its constant in kernels/joints/kinds is its name in capitals, or CHAIN if it has
    steps.

    angular : whether each of its named coordinates is an angle; None where the model's file says how many
    needs : key of a body that it needs -> what is said where that is not given
    keys : those of them that are its own -> their type; None where they are not given
    parameter : (body, directed) -> its numbers for the kernels, kernels/joints/tree.Tree.parameter
    steps : (body, directed) -> its motions, of a chain; None of every other
    neutral : coordinates without names in the neutral pose
    offset : its numbers -> (3,) where the frame on the child lies there, in the one on the parent [m]
    translation : which of them is the first of three along the axes of the frame on the parent; None = none
    rotation : which is the first of its unit quaternion, which speed the first of its angular velocity
    slides : (body, k) -> the axis along which coordinate k itself moves the body
    mirrors : whether between the mirror images of its frames it is itself (rtsim/models/both_sides)
    scaled : (body, (3,) factors of its parent) -> keys of the body that change with them
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
