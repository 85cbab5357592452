"""Torque generators (Millard et al. 2019): fits, strengths, figures."""
