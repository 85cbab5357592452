"""A custom joint: a sequence of rotations and translations that the model's file lists. The size of each is a
coordinate, or a function of one (kernels/joints/chain).
"""

from __future__ import annotations

from typing import Any

from rtsim.config.joint_kind import ChainStep, Directed, JointKind

NEEDS = {"motion": "a custom joint needs one motion at least; add it"}


def steps(body: Any, directed: Directed) -> tuple[ChainStep, ...]:
    own = [coordinate.name for coordinate in body.coordinates]
    return tuple(
        ChainStep(
            motion.rotates is not None,
            directed(motion.axis),
            own.index(motion.of) if motion.of and own else 0,
            motion,
        )
        for motion in body.motion
    )


KIND = JointKind(angular=None, needs=NEEDS, steps=steps)
