"""A planar joint: translations along two axes, then a rotation about their normal (kernels/joints/chain)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtsim.config.joint_kind import ChainStep, Directed, JointKind

NEEDS = {"axes": "a planar joint needs two axes; add axes = [first, second]"}


def steps(body: Any, directed: Directed) -> tuple[ChainStep, ...]:
    first, second = (directed(axis) for axis in body.axes)
    normal = np.cross(first, second)
    return (
        ChainStep(False, first, 0),
        ChainStep(False, second, 1),
        ChainStep(True, normal / np.linalg.norm(normal), 2),
    )


def slides(body: Any, k: int) -> Any:
    return body.axes[k] if k < 2 else None


KIND = JointKind(angular=(False, False, True), needs=NEEDS, steps=steps, slides=slides)
