"""Force elements between bodies: their wrenches, and how these change with the pose and the velocity."""
