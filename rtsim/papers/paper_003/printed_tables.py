"""Tables of Sancisi et al. (2017) as printed, by which the shipped model is checked.

Lengths in mm; weights in 1/m^2 with marker weights of 1.
"""

from __future__ import annotations

LIGAMENTS = ("ACL", "PCL", "MCL", "LCL")
METHODS = ("zero", "minimised", "prescribed")

POLYNOMIALS = {
    "ACL": (-2.5e-3, -1.4023e-5, 3.2187e-6, 9.1037e-8, 1.0491e-9, 5.8532e-12, 1.3559e-14),
    "PCL": (2.7e-3, -4.2080e-5, -8.5132e-6, -2.4381e-7, -3.0408e-9, -1.8055e-11, -4.1819e-14),
    "MCL": (2.3336e-4, 3.2597e-5, 1.3686e-6, 2.4415e-8, 1.7782e-10, 2.2257e-13, -1.7572e-15),
    "LCL": (3.5e-3, -1.5564e-4, -1.9254e-5, -5.7922e-7, -7.9173e-9, -5.1875e-11, -1.3239e-13),
}
"""Table 2: a1 to a7 of eq. 1, for a flexion in degrees, negative as printed (extension is positive)."""
WEIGHTS = {
    "minimised": {"ACL": 1e3, "PCL": 1e4, "MCL": 1e2, "LCL": 1.0},
    "prescribed": dict.fromkeys(LIGAMENTS, 1e4),
}
"""Table 3."""
