"""A universal joint: rotations about two axes, of which the first turns the second (kernels/joints/chain)."""

from __future__ import annotations

from typing import Any

from rtsim.config.joint_kind import Directed, Kind, Step

NEEDS = {"axes": "a universal joint needs two axes; add axes = [first, second]"}


def steps(body: Any, directed: Directed) -> tuple[Step, ...]:
    first, second = body.axes
    return Step(True, directed(first), 0), Step(True, directed(second), 1)


KIND = Kind(angular=(True, True), needs=NEEDS, steps=steps)
