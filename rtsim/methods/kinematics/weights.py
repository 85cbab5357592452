"""Changes the weights of a method's soft constraints in a running estimator, without rebuilding anything
else.
"""

from __future__ import annotations

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.packing.elements import scalar_elements
from rtsim.models.roles import find_method, roles_among


def can_reweigh(spec: ModelSpec, method: str) -> bool:
    """Return whether the weights of a method's soft elements can be replaced during a run: if it has some,
    and takes none of them from another method that it follows.
    """
    how = find_method(spec, method)
    return bool(how.soft) and not (how.follows and find_method(spec, how.follows).soft)


def reweigh(estimator: MultibodyEstimator, spec: ModelSpec, how: MethodSpec) -> None:
    """Copy the weights of the soft elements from the method `how` into the arrays of the method in use. As
    the arrays stay the same, kernels that hold references to them use the new weights.

    The caller then has to see to it that the next frame is solved like the first frame of a session.

    spec : the estimator's model; how : the method in use, with other weights
    """
    weights = roles_among(scalar_elements(spec), how).weight
    estimator.roles.weight[: len(weights)] = weights
