"""Force-dependent kinematics: the pose of a joint follows from the forces in it (Andersen et al. 2017)."""
