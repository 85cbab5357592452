"""Force elements between bodies: their wrenches, and the derivatives of these with respect to pose and
velocity."""
