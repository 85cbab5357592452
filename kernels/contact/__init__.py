"""Contact of an ellipsoid with a plane: volumetric and point laws, friction, torques of the patch."""
