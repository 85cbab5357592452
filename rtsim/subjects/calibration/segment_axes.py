"""Natural coordinates of the segments from anatomical landmarks (Dumas and Cheze 2007, Med Biol Eng Comput
45, 313-322), for a right leg or a mirrored left one: u forwards, v upwards, w to the right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.subjects.calibration.landmarks import Landmarks
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]


def natural_coordinates(x: Landmarks) -> dict[str, Array]:
    """Return for each segment the natural coordinates Q (n, 4, 3) = u, rP, rD, w: direction u, proximal and
    distal point rP and rD [m], direction w; directions are of unit length.

    pelvis : if it is marked; from mid-PSIS to the middle of the hips; u from mid-PSIS to mid-ASIS, w from
        left to right hip
    thigh : from hip to knee; u normal to the plane of epicondyles and hip, w along the epicondyles
    shank : from knee to ankle; u normal to the plane of fibula head, knee and ankle (or, without a fibula
        head, to the plane of malleoli and knee), w along the malleoli
    foot : from ankle to mid-metatarsals; u from calcaneus to mid-metatarsals, w from metatarsal 1 to 5
    """
    across_knee = x.epicondyle_lateral - x.epicondyle_medial
    across_ankle = x.malleolus_lateral - x.malleolus_medial
    beside_shank = across_ankle if x.fibula_head is None else x.fibula_head - x.ankle
    legs = {
        "thigh": stack(np.cross(x.hip - x.knee, across_knee), x.hip, x.knee, across_knee),
        "shank": stack(np.cross(x.knee - x.ankle, beside_shank), x.knee, x.ankle, across_ankle),
        "foot": stack(x.metatarsals - x.calcaneus, x.ankle, x.metatarsals, x.metatarsal_5 - x.metatarsal_1),
    }
    if x.pelvis is None:
        return legs
    back, opposite = x.pelvis.psis_middle, x.pelvis.hip_opposite
    pelvis = stack(x.pelvis.asis_middle - back, back, 0.5 * (x.hip + opposite), x.hip - opposite)
    return {"pelvis": pelvis, **legs}


def stack(u: Array, r_p: Array, r_d: Array, w: Array) -> Array:
    """Return the natural coordinates Q (n, 4, 3) of a segment: u, proximal point rP, distal point rD, w, with
    the directions u and w scaled to unit length.
    """
    return np.stack([unit(u), r_p, r_d, unit(w)], axis=1)
