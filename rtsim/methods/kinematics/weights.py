"""Replaces the weights of a method's soft constraints in a running estimator, without rebuilding anything
else.

A soft constraint is not satisfied exactly: the square of its deviation, times its weight, is added to the
cost that the fit to the markers minimises.
"""

from __future__ import annotations

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.packing.elements import scalar_elements
from rtsim.models.roles import find_method, roles_among


def can_reweigh(spec: ModelSpec, method: str) -> bool:
    """Return whether the weights of a method's soft constraints can be replaced during a run.

    This needs a method with soft constraints. If another method is solved before it in each frame
    (`MethodSpec.follows`), that one must have no soft constraints, as only the weights of one are replaced.
    """
    how = find_method(spec, method)
    return bool(how.soft) and not (how.follows and find_method(spec, how.follows).soft)


def reweigh(estimator: MultibodyEstimator, spec: ModelSpec, how: MethodSpec) -> None:
    """Replace the weights of the soft constraints with which an estimator solves its frames. The new weights
    are written into the existing array, so kernels that hold a reference to it use them.

    The caller then has to see to it that the next frame is solved like the first frame of a session.

    spec : the estimator's model
    how : the method that the estimator uses, with the new weights and otherwise unchanged
    """
    weights = roles_among(scalar_elements(spec), how).weight
    estimator.roles.weight[: len(weights)] = weights
