"""A universal joint: rotations about two axes, of which the first turns the second (kernels/joints/chain)."""

from __future__ import annotations

from typing import Any

from rtsim.config.joint_kind import ChainStep, Directed, JointKind

NEEDS = {"axes": "a universal joint needs two axes; add axes = [first, second]"}


def steps(body: Any, directed: Directed) -> tuple[ChainStep, ...]:
    first, second = body.axes
    return ChainStep(True, directed(first), 0), ChainStep(True, directed(second), 1)


KIND = JointKind(angular=(True, True), needs=NEEDS, steps=steps)
