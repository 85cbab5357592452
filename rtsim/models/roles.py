"""What a kinematic method of a model uses: the kinds of its joints, and its constraints, each hard (exact),
soft (weighted) or off, with their targets.
"""

from __future__ import annotations

import numpy as np

from kernels.solver.constraints import DISTANCE, HARD, OFF, SOFT, Roles
from rtsim.config.models.joint_schema import JointKind
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.errors import ConfigError
from rtsim.models.packing.elements import ScalarElement, scalar_elements
from rtsim.subjects.subject import Subject


def find_method(spec: ModelSpec, method: str | None = None) -> MethodSpec:
    """Find the method of that name in a model, or its first; ConfigError names the allowed ones."""
    if method is None:
        return next(iter(spec.methods.values()))
    try:
        return spec.methods[method]
    except KeyError:
        raise ConfigError(
            f"unknown method {method!r}", where=f"model {spec.name}", allowed=", ".join(spec.methods)
        ) from None


def joint_kinds(spec: ModelSpec, method: str | None = None) -> tuple[JointKind, ...]:
    """Return the kind of the joint between each body and its parent, in the order of spec.bodies, as a method
    of the model uses it.

    method : name of a kinematic method in spec.methods, which may replace kinds; None = the first
    """
    how = find_method(spec, method)
    return tuple(how.joints.get(body.name, body.joint) for body in spec.bodies)


def check_fits_markers(spec: ModelSpec) -> None:
    """Raise ConfigError if the model has rolling: a constraint of velocities, which methods for single poses
    cannot apply.
    """
    if spec.rolls:
        roll = spec.rolls[0]
        raise ConfigError(
            "the element rolls, which is a constraint of velocity, and methods that fit a pose to "
            "markers cannot use such a constraint",
            where=f"rolls.{roll.name}",
            remedy="use the model for dynamics and moment arms, or remove `rolls`",
        )


def roles_of(spec: ModelSpec, method: str | None = None, subject: Subject | None = None) -> Roles:
    """Return how a method (the first, if none is named) uses each scalar constraint of a model: hard, soft
    with a weight, or off, and the target lengths and distances.

    subject : person whose mean lengths are the targets, if the method uses them
    """
    return roles_among(scalar_elements(spec), find_method(spec, method), subject)


def roles_among(rows: list[ScalarElement], how: MethodSpec, subject: Subject | None = None) -> Roles:
    """Return how the method `how` uses each of these scalar constraints: hard, soft with a weight, or off,
    and the target lengths and distances."""
    n = len(rows)
    mode, weight, target = np.full(n, OFF, np.int64), np.zeros(n), np.zeros(n)
    for e, row in enumerate(rows):
        if row.record in how.hard:
            mode[e] = HARD
        elif row.record in how.soft:
            mode[e], weight[e] = SOFT, how.soft[row.record]
        target[e] = 1e-3 * target_of(row, how, subject)
        if mode[e] != OFF and row.needs_length and not target[e] > 0.0:
            raise ConfigError(
                "a constraint of this element needs a target length or distance",
                where=row.where,
                remedy="give target_mm or mean_mm",
            )
    return Roles(mode, weight, target)


def target_of(row: ScalarElement, how: MethodSpec, subject: Subject | None) -> float:
    """Return the target of a distance or plane constraint of a method [mm]: the subject's mean length, the
    model's mean length, or the fixed length.
    """
    length = row.length
    if how.target == "mean" and row.record in how.soft and row.kind == DISTANCE:
        own = subject.ligament_mean_mm if subject else {}
        return own.get(row.record, length.mean_mm or 0.0)
    return length.target_mm or length.mean_mm or 0.0
