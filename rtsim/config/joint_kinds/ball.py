"""A ball joint (kernels/joints/ball)."""

from rtsim.config.joint_kind import JointKind

KIND = JointKind(neutral=(1.0, 0.0, 0.0, 0.0), rotation=(0, 0), mirrors=True)
