"""Numbers of the knee of Sancisi et al. 2017 (tables 1-3) and of the ankle of Di Gregorio et al. 2007.

Lengths are in metres except where the name ends in ``_mm``; flexion is in degrees and NEGATIVE, as in eq. 1.

Sources
- Knee: N. Sancisi, X. Gasparutto, V. Parenti-Castelli, R. Dumas, "A multi-body optimization framework with a
  knee kinematic model including articular contacts and ligaments", Meccanica 52 (2017) 695-711.
- Ankle: R. Di Gregorio, V. Parenti-Castelli, J. O'Connor, A. Leardini, Med Biol Eng Comput 45 (2007) 305-313,
  second mechanism (one spherical pair, two isometric ligaments), mean of specimens 1-3, as a right ankle. The
  translation is a later addition of the published multi-body optimisation that uses these numbers: it moves
  the points of both segments alike, and grows with the length of the shank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

LIGAMENTS = ("ACL", "PCL", "MCL", "LCL")
COMPARTMENTS = ("medial", "lateral")


def _metres(x_mm: float, y_mm: float, z_mm: float) -> Array:
    return np.array([x_mm, y_mm, z_mm]) / 1000.0


# Table 1, femur SCS: X forward, Y up, Z to the right, origin midway between the epicondyles (D of the thigh).
FEMUR_POINTS: dict[str, Array] = {
    "medial_condyle": _metres(0.2458, 3.4071, -23.2019),
    "lateral_condyle": _metres(-3.2853, 2.1225, 26.2054),
    "ACL": _metres(-6.7712, 7.5255, 9.1575),
    "PCL": _metres(-2.6610, -1.0906, -2.1857),
    "MCL": _metres(2.7608, 5.7798, -47.6279),
    "LCL": _metres(3.2800, 2.2812, 36.1895),
}

# Table 1, tibia SCS: superimposed on the femur SCS at the neutral pose, origin at P of the shank.
TIBIA_POINTS: dict[str, Array] = {
    "medial_plateau": _metres(-2.1344, -28.6241, -19.1308),
    "lateral_plateau": _metres(-2.7946, -26.0861, 24.3679),
    "ACL": _metres(12.7709, -26.1454, -0.9269),
    "PCL": _metres(-25.8519, -38.1449, -3.5321),
    "MCL": _metres(2.1345, -117.0682, -5.7872),
    "LCL": _metres(-24.2639, -47.9992, 37.1213),
}

# Table 1, as printed: unit to 3.5e-5 only. They are normalised before use, but the reference solution of the
# recorded gait used them as printed: (c - p).n = R then is the contact of the unit normal with radius R/|n|.
PRINTED_PLATEAU_NORMALS: dict[str, Array] = {
    "medial": np.array([0.0675, 0.9896, -0.1273]),
    "lateral": np.array([-0.0881, 0.9942, 0.0617]),
}
PLATEAU_NORMALS: dict[str, Array] = {
    name: normal / np.linalg.norm(normal) for name, normal in PRINTED_PLATEAU_NORMALS.items()
}

# Table 1, footnote.
CONDYLE_RADII: dict[str, float] = {"medial": 0.03232, "lateral": 0.02834}
MECHANISM_LENGTHS: dict[str, float] = {"ACL": 0.04053, "PCL": 0.04326, "MCL": 0.12970}

# Table 2: a_1 .. a_7 of eq. 1, per degree to the power of the index.
POLYNOMIALS: dict[str, tuple[float, ...]] = {
    "ACL": (-2.5e-3, -1.4023e-5, 3.2187e-6, 9.1037e-8, 1.0491e-9, 5.8532e-12, 1.3559e-14),
    "PCL": (2.7e-3, -4.2080e-5, -8.5132e-6, -2.4381e-7, -3.0408e-9, -1.8055e-11, -4.1819e-14),
    "MCL": (2.3336e-4, 3.2597e-5, 1.3686e-6, 2.4415e-8, 1.7782e-10, 2.2257e-13, -1.7572e-15),
    "LCL": (3.5e-3, -1.5564e-4, -1.9254e-5, -5.7922e-7, -7.9173e-9, -5.1875e-11, -1.3239e-13),
}

# Table 3: weights of the squared-length residuals (m^2), in the order of LIGAMENTS; marker weights are 1 (m).
MINIMISED_WEIGHTS: Array = np.array([1e3, 1e4, 1e2, 1e0])
PRESCRIBED_WEIGHTS: Array = np.array([1e4, 1e4, 1e4, 1e4])

# Ankle points in the frame of the talus and calcaneus (X forward, Y up, Z to the right). The tibial and
# fibular points are given in the same frame at the neutral pose; they are measured from D of the shank.
ANKLE_CENTRE: Array = np.array([0.001553, 0.000275, 0.009531])
FOOT_ANKLE_POINTS: dict[str, Array] = {
    "ankle_centre": ANKLE_CENTRE,
    "TiCaL": np.array([0.001653, -0.017121, -0.015714]),
    "CaFiL": np.array([-0.02207, -0.0168, 0.025078]),
}
SHANK_ANKLE_POINTS: dict[str, Array] = {
    "ankle_centre": ANKLE_CENTRE,
    "TiCaL": np.array([-7e-06, 0.016023, -0.026644]),
    "CaFiL": np.array([0.001954, -0.001809, 0.027941]),
}
ANKLE_LIGAMENTS = ("TiCaL", "CaFiL")
ANKLE_TRANSLATION: Array = np.array([-0.0051, -0.0206, -0.0003])
ANKLE_REFERENCE_SHANK_LENGTH = 0.3964


def neutral_lengths() -> Array:
    """Return d(0) of the four ligaments, (4,) m: femur and tibia superimposed (section 2.1.2)."""
    return np.array([np.linalg.norm(FEMUR_POINTS[name] - TIBIA_POINTS[name]) for name in LIGAMENTS])


def experimental_lengths(flexion_deg: float) -> Array:
    """Return the ligament lengths of eq. 1 at a knee flexion in degrees (flexion negative), (4,) m."""
    factors = [
        1.0 + sum(a * flexion_deg**power for power, a in enumerate(POLYNOMIALS[name], start=1))
        for name in LIGAMENTS
    ]
    return np.array(factors) * neutral_lengths()


def isometric_ankle_lengths() -> Array:
    """Return the constant lengths of the two ankle ligaments, (2,) m (the translation cancels)."""
    return np.array(
        [np.linalg.norm(FOOT_ANKLE_POINTS[name] - SHANK_ANKLE_POINTS[name]) for name in ANKLE_LIGAMENTS]
    )


def ankle_translation(shank_length: float) -> Array:
    """Return the translation of every ankle point, (3,) m, for a shank length in m."""
    return ANKLE_TRANSLATION * shank_length / ANKLE_REFERENCE_SHANK_LENGTH
