"""A weld: no motion."""

from rtsim.config.joint_kind import Kind

KIND = Kind(mirrors=True)
