"""A weld: no motion."""

from rtsim.config.joint_kind import JointKind

KIND = JointKind(mirrors=True)
