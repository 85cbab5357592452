"""Force elements between bodies: the wrenches that they exert, and the derivatives of these wrenches with
respect to pose and velocity.
"""
