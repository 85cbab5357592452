"""Choice of the kinematic methods that a run uses, and of the tracking tasks (weights of markers, target
values of coordinates) of a model with its own markers.
"""

from __future__ import annotations

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import USUAL_METHOD, USUAL_METHODS, RunConfig
from rtsim.errors import ConfigError
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.models.following import TrackingTasks, following_of


def followed_by(run: RunConfig, spec: ModelSpec) -> TrackingTasks:
    """Return the tracking tasks (weights of markers, target values of coordinates) of a model with its own
    markers, from the inverse kinematics setup file that the run names, else from the model.
    """
    setup = read_ik_setup(run.ik_setup) if run.ik_setup else None
    return following_of(spec, setup, run.ik_setup)


def method_of(run: RunConfig, spec: ModelSpec) -> str:
    """Return the initial method of a run: the method named by the run, else the default, or the model's
    first method.
    """
    return run.method or (USUAL_METHOD if USUAL_METHOD in spec.methods else next(iter(spec.methods)))


def methods_of(run: RunConfig, spec: ModelSpec) -> tuple[str, ...]:
    """Return the methods that the run can switch to; ConfigError for one that the model does not have."""
    methods = run.methods or tuple(method for method in USUAL_METHODS if method in spec.methods)
    begun = method_of(run, spec)
    unknown = [method for method in (begun, *methods) if method not in spec.methods]
    if unknown:
        own = unknown[0] == begun
        raise ConfigError(
            f"unknown method {unknown[0]!r}",
            where="--method" if own else "methods of the run config",
            allowed=", ".join(spec.methods),
            remedy=f"give {'a method' if own else 'methods'} of the model {spec.name}",
        )
    return methods
