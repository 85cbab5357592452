"""Tables of Sancisi et al. (2017) as printed, for comparison with the shipped model.

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
"""Table 3: weights of the ligaments by method [1/m^2]."""
ANGLES = ("extension", "adduction", "internal rotation")
"""Angles of the knee [deg], as figure 2 has them: flexion is negative."""
DISPLACEMENTS = ("lateral displacement", "anterior displacement", "proximal displacement")
"""Displacements of the tibia in the joint coordinate system of the knee [mm]."""
ROOT_MEAN_SQUARES = {
    "zero": {"ACL": 1.7, "PCL": 1.8, "MCL": 0.05},
    "minimised": {"ACL": 2.9, "PCL": 0.7, "MCL": 0.3, "LCL": 2.1},
    "prescribed": {"ACL": 1.7, "PCL": 1.1, "MCL": 0.1, "LCL": 0.9},
}
"""Table 4: root mean square difference from eq. 1, in % of the neutral length."""
STANDARD_DEVIATIONS = {
    "ACL": (0.1, 0.3, 0.4, 2.5, 3.4, 0.0),
    "PCL": (0.1, 0.9, 0.6, 2.8, 1.8, 0.3),
    "MCL": (0.1, 0.5, 0.7, 1.5, 3.6, 0.1),
    "LCL": (0.1, 0.6, 0.6, 2.9, 1.5, 0.2),
}
"""Table 5: largest standard deviation in the cycle, averaged over the subjects, by the ligament that has the
largest weight; angles [deg], then displacements [mm].
"""
VARIATIONS = {
    "adduction": (2.9, 0.5),
    "lateral displacement": (6.7, 2.1),
    "anterior displacement": (17.3, 0.6),
    "ACL": (30.7, 1.7),
    "PCL": (20.7, 1.1),
    "MCL": (3.1, 0.1),
    "LCL": (11.6, 0.8),
}
"""Section 3: largest variation between runs with different weights, averaged over the subjects: over all
weights, and over those above 3000.
"""
CUT = 3000.0
"""Weight above which the curves hardly change with the weight (section 3) [1/m^2]."""
PATTERNS = {
    "adduction": 4.0, "internal rotation": 5.0, "lateral displacement": 12.0, "anterior displacement": 20.0,
}  # fmt: skip
"""Section 3: largest change of the knee of one subject by the relative weights [deg, mm]."""
