"""Force-dependent kinematics (Andersen et al. 2017): joint positions that follow from forces."""
