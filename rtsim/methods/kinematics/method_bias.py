"""Systematic error of an angle that comes from the method itself, as stated by its model, apart from errors
of markers."""

from __future__ import annotations

from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.model import Model
from rtsim.models.roles import find_method
from rtsim.subjects.subject import kind_of_segment


def bias_of(spec: ModelSpec, method: str, model: Model) -> dict[str, float]:
    """Return the systematic errors of a method [deg], by joint angle of the model. Angles without a stated
    error are left out.

    For each leg one of two stated values is used: one for legs whose joints are all registered, that is
    located on the person, and one for all others.
    """
    how, names, bodies = find_method(spec, method), model.names.joint_angles, model.names.bodies
    laid = [body.name for body in spec.bodies if body.registered_by]
    registered = {side_of(name) for name in laid} - {
        side_of(name) for name in laid if name not in model.registered
    }
    found = {}
    for k, name in enumerate(names):
        side = side_of(bodies[model.joints.distal[k // 3]])
        stated = how.bias_deg if side in registered else how.bias_unregistered_deg
        if (plain := name.removesuffix(side)) in stated:
            found[name] = float(stated[plain])
    return found


def side_of(body: str) -> str:
    """Return the suffix of a body's name that gives its side, empty where there is none."""
    return body[len(kind_of_segment(body)) :]
