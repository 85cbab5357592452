"""Foot contact (Brown 2017): steps, motion, pressure, and the fit of its parameters."""
