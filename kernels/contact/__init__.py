"""Contact of two surfaces: geometry of the overlap, normal force, friction, and torques of the patch."""
