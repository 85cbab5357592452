"""Force-dependent kinematics: where a joint lies follows from the forces in it (Andersen et al. 2017)."""
