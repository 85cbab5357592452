"""Force elements between bodies: wrenches, and how they change with the pose and the velocity."""
