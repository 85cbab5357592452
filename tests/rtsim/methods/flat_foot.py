"""Marks of a left foot that stands level, in the axes of fits: X medial, Y forwards, Z up [m]."""

from __future__ import annotations

import numpy as np

FLAT = {
    "calcaneus": np.array([0.01, 0.0, 0.035]),
    "metatarsal_1": np.array([0.05, 0.2, 0.04]),
    "metatarsal_3": np.array([0.01, 0.205, 0.045]),
    "metatarsal_5": np.array([-0.04, 0.17, 0.03]),
    "hallux": np.array([0.045, 0.25, 0.025]),
}
