"""A weld joint: the body does not move relative to its parent."""

from rtsim.config.joint_kind import JointKind

KIND = JointKind(mirrors=True)
