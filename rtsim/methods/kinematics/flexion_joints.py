"""For each ligament or other constraint whose length is a polynomial of a joint's flexion, that joint
(Sancisi et al. 2017, eq. 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.models.model import Model


def flexion_joints(spec: ModelSpec, model: Model) -> NDArray[np.int64]:
    """Return for each element (n_element,) the joint between its two bodies, whose flexion determines its
    length (a polynomial: Sancisi et al. 2017, eq. 1).

    The entry is 0 for elements whose length does not depend on a flexion. Raises ConfigError if a length
    depends on a flexion that the model does not have.
    """
    first_angles = model.names.joint_angles[::3]
    joints = [first_angles.index(name) for name in spec.flexions]
    elements, joint_of = model.elements, np.zeros(len(model.names.elements), np.int64)
    for e in np.flatnonzero(model.lengths.polynomial.any(axis=1)):
        ends = {int(elements.body_a[e]), int(elements.body_b[e])}
        own = [j for j in joints if {int(model.joints.proximal[j]), int(model.joints.distal[j])} == ends]
        if not own:
            raise ConfigError(
                f"the length of {model.names.elements[e]} depends on flexion, which is no joint "
                "angle of the model",
                where=f"model {spec.name}: flexion",
                allowed="the first angle of the joint between the two bodies of the element",
            )
        joint_of[e] = own[0]
    return joint_of
