"""A hinge: the body rotates about one axis fixed in its parent (kernels/joints/hinge)."""

from __future__ import annotations

from typing import Any

from rtsim.config.joint_kind import Array, Directed, JointKind

NEEDS = {"axis": 'a hinge joint needs its axis; add axis = [x, y, z], or "u", "v" or "w"'}


def parameter(body: Any, directed: Directed) -> Array:
    return directed(body.axis)


KIND = JointKind(angular=(True,), needs=NEEDS, parameter=parameter, mirrors=True)
