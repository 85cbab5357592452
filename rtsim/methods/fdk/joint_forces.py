"""Displacements of joints and the contact forces in them, in the equilibrium that force-dependent kinematics
has found.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import FORCE, PATCH
from kernels.solver.constraints import DISTANCE, SPHERE_ON_PLANE
from rtsim.config.models.model_names import check_known
from rtsim.config.runs.fdk_schema import JointForceSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.model import Model
from rtsim.models.neutral import frame_in_ground, neutral_places

Array = NDArray[np.float64]


class _Of(NamedTuple):
    """Indices that one joint's displacement and force are computed from.

    element : index of the constraint (element) whose first point is the joint's point
    contacts : for each contact its index, and the sign of its force on the body that carries the joint's
        point
    pushes : indices of the element's one-way reactions (only push or only pull)
    shares : two-sided constraints that also bear load of the joint: row among their reactions, element, sign
    """

    element: int
    contacts: tuple[tuple[int, float], ...]  # contact, sign of its force on the point's body
    pushes: tuple[int, ...]
    # held row, element, sign, sign of its reaction on the point's body
    shares: tuple[tuple[int, int, float, float], ...]


class JointForces:
    """Displacements and forces of named joints in the equilibrium of each frame.

    displacement : (n_joint, 3) displacement of the joint's point from the neutral pose [m]
    force : (n_joint, 3) force on the body that carries the point [N]: the sum of the reactions of the joint's
        constraints and, if the run has FDK degrees of freedom, of the joint's contact forces

    Both are in the axes of the other body of the joint: for the mandible, those of the skull, X forwards, Y
    up, Z to the right.
    """

    def __init__(self, of: ForceDependentKinematics, joints: dict[str, JointForceSpec]) -> None:
        check_joints(joints, of.model, of.held)
        self._of, self.names = of, tuple(joints)
        self._joints = [self._find(name, spec) for name, spec in joints.items()]
        self.displacement = np.full((len(joints), 3), math.nan)
        self.force = np.full((len(joints), 3), math.nan)
        places = neutral_places(of.model)
        self._rest = [self._place(joint.element, *places) for joint in self._joints]

    def update(self, known: bool) -> None:
        """Compute displacements and forces of the joints in the newest frame; known : whether the solver
        found its equilibrium, otherwise all become NaN.
        """
        if not known:
            self.displacement[:] = self.force[:] = math.nan
            return
        of, elements = self._of, self._of.model.elements
        position, rotation = of.pose
        state = of.work.forces.contacts.state
        for k, joint in enumerate(self._joints):
            e = joint.element
            _, R = frame_in_ground(elements.body_b[e], position, rotation)
            self.displacement[k] = self._place(e, position, rotation) - self._rest[k]
            force = self.force[k]
            force[:] = 0.0
            for c, sign in joint.contacts:
                if state[c, PATCH] > 0.0:  # beyond that the force of the last touch stands there
                    force += sign * R.T @ state[c, FORCE : FORCE + 3]
            for r in joint.pushes:
                force += of.pushes[r] * np.sign(of.joint.strength[r]) * elements.normal_b[e]
            for row, element, sign, side in joint.shares:
                size = of.reactions[row]
                if size * sign > 0.0:
                    _, plane = frame_in_ground(elements.body_b[element], position, rotation)
                    force += side * size * R.T @ plane @ elements.normal_b[element]

    def _place(self, e: int, position: Array, rotation: Array) -> Array:
        """Return the first point of the constraint with index e in model.elements, which lies on the
        constraint's first body, from the origin and in the axes of its second body, (3,) [m]."""
        elements = self._of.model.elements
        origin_a, A = frame_in_ground(elements.body_a[e], position, rotation)
        origin_b, B = frame_in_ground(elements.body_b[e], position, rotation)
        x: Array = B.T @ (A @ elements.point_a[e] + origin_a - origin_b)
        return x

    def apart(self) -> tuple[str, ...]:
        """Return the names of the joints' contacts that are open, so that they carry no force, in the
        solver's present state.
        """
        of = self._of
        depth = of.work.forces.contacts.state[:, PATCH]
        own = {c for joint in self._joints for c, _ in joint.contacts}
        return tuple(of.model.names.contacts[c] for c in sorted(own) if not depth[c] > 0.0)

    def _find(self, name: str, spec: JointForceSpec) -> _Of:
        names, of = self._of.model.names, self._of
        element = names.elements.index(spec.point)
        hard = [*of.hard]
        pushes = tuple(r for r, row in enumerate(of.joint.pushing) if hard[row] == spec.point)
        decided = [names.elements[e] for e in of.joint.element]
        model, a, key = self._of.model, int(self._of.model.elements.body_a[element]), f"fdk.joints.{name}"
        contacts, shares = [], []
        for contact in spec.contacts:
            c, pairs = names.contacts.index(contact), model.forces.pairs
            pair = model.forces.contacts.pair[c]
            ends = int(pairs.body_a[pair]), int(pairs.body_b[pair])
            contacts.append((c, side_of_force(model, a, ends, f"contact {contact}", f"{key}.contacts")))
        for other, part in spec.takes.items():
            k, sign = names.elements.index(other), 1.0 if part == "positive" else -1.0
            ends = int(model.elements.body_a[k]), int(model.elements.body_b[k])
            side = side_of_force(model, a, ends, f"element {other}", f"{key}.takes")
            if other not in decided:
                shares.append((of.held.index(other), k, sign, side))
        return _Of(element, tuple(contacts) if decided else (), pushes, tuple(shares))


def side_of_force(model: Model, body: int, ends: tuple[int, int], what: str, where: str) -> float:
    """Return the sign with which a force between two bodies acts on the body that carries a joint's point: 1
    if this is the first of the two, -1 if it is the second.

    body : index of that body, -1 = ground; ends : indices of the two bodies
    what, where : name of the contact or constraint, and its key in the run config

    ConfigError if the force does not act on this body.
    """
    if body in ends:
        return 1.0 if body == ends[0] else -1.0
    name = model.names.bodies[body] if body >= 0 else "ground"
    raise ConfigError(
        f"the {what} does not act on {name}, the body of this point", where=where,
        remedy="name contacts and elements that act on this body, or choose a point of another body",
    )  # fmt: skip


def check_joints(joints: dict[str, JointForceSpec], model: Model, held: tuple[str, ...]) -> None:
    """Check the joints whose forces a run requests. Raise ConfigError for a point or a contact that the model
    does not have, and for constraints in a joint's `takes` that are not plane constraints among `held`. The
    setting `takes` of a joint names further constraints, whose reactions are added to the joint's force while
    they have the stated sign.

    held : names of the constraints that can both push and pull
    """
    names = model.names
    kind = dict(zip(names.elements, model.elements.kind.tolist(), strict=True))
    planes = [n for n in held if kind[n] == SPHERE_ON_PLANE]
    points = [n for n in names.elements if kind[n] in (SPHERE_ON_PLANE, DISTANCE)]
    for name, spec in joints.items():
        try:
            check_known([spec.point], points, f"fdk.joints.{name}.point")
            check_known(spec.contacts, names.contacts, f"fdk.joints.{name}.contacts")
            check_known(spec.takes, planes, f"fdk.joints.{name}.takes")
        except ValueError as fault:
            raise ConfigError(str(fault)) from None
