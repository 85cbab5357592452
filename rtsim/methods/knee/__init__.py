"""The knee as a parallel mechanism: geometry, motion and identification (Sancisi et al. 2017)."""
