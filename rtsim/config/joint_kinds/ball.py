"""A ball joint: the body rotates freely about a point of its parent (kernels/joints/ball)."""

from rtsim.config.joint_kind import JointKind

KIND = JointKind(neutral=(1.0, 0.0, 0.0, 0.0), rotation=(0, 0), mirrors=True)
