"""OpenSim models (.osim) as models of rtsim."""
