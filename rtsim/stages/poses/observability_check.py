"""Check for joint angles whose standard deviation by a method exceeds the limit of the run in every pose,
because the markers do not determine them; it is reported before the run.

For example, if a thigh carries two markers, only the joints determine its rotation about the line through
both: every frame would be uncertain, and the user should know before the run.
"""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.kinematics.multibody import MultibodyEstimator

REMEDY = "more markers on the adjacent segments"
OTHERS = ", or another method,"


def unobservable_angles(
    estimator: MultibodyEstimator, absent: Set[str], unknown: NDArray[np.bool_]
) -> dict[str, str]:
    """Find the estimation methods with which the standard deviation of some joint angle exceeds its limit,
    in the neutral pose and with all markers of the stream visible.

    Returns method -> sentence for the user. The sentence ends with the list of these angles, because long
    sentences are cut at their end. The estimator is left in its state before the first frame.

    absent : markers of the model that the stream does not have
    unknown : (3 n_joint,) - True for angles that are not published, and therefore not checked
    """
    said, chosen = {}, estimator.method
    for method in estimator.methods:
        estimator.switch(method)
        estimator.restart()
        names = estimator.model.names
        estimator.estimate(np.full((len(names.markers), 3), np.nan), 0.0)
        markers = estimator.outputs.markers.copy()
        markers[[k for k, name in enumerate(names.markers) if name in absent]] = np.nan
        estimator.restart()
        found, n_vague = estimator.deviations, estimator.deviate(0.0, estimator.estimate(markers, 0.0))
        if found is None or not n_vague:
            continue
        vague = np.flatnonzero((found.uncertain > 0.0) & ~unknown).tolist()
        degrees = np.degrees(found.angles).reshape(-1)
        limits = (found.stated.limit_deg, found.stated.limit_deg, found.stated.limit_rotation_deg)
        listed = ", ".join(
            f"{names.joint_angles[k]} ({degrees[k]:.1f} degrees, limit {limits[k % 3]:g})" for k in vague
        )
        if vague:
            said[method] = listed
    estimator.switch(chosen)
    estimator.restart()
    others = OTHERS if len(said) < len(estimator.methods) else ""
    return {
        method: f"With these markers the method {method} leaves angles uncertain in every frame; "
        f"{REMEDY}{others} would help: {listed}."
        for method, listed in said.items()
    }
