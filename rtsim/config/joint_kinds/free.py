"""A free joint: the body moves relative to its parent without constraint (kernels/joints/free)."""

from rtsim.config.joint_kind import JointKind

KIND = JointKind(neutral=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), translation=0, rotation=(3, 3), mirrors=True)
