"""A slider: the body translates along one axis fixed in its parent (kernels/joints/slider)."""

from __future__ import annotations

from typing import Any

from rtsim.config.joint_kind import Array, Directed, JointKind

NEEDS = {"axis": 'a slider joint needs its axis; add axis = [x, y, z], or "u", "v" or "w"'}


def parameter(body: Any, directed: Directed) -> Array:
    return directed(body.axis)


def slides(body: Any, k: int) -> Any:
    return body.axis


KIND = JointKind(angular=(False,), needs=NEEDS, parameter=parameter, slides=slides)
