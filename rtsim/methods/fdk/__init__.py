"""Force-dependent kinematics (Andersen et al. 2017): degrees of freedom that forces decide."""
