"""Contact of one foot with the ground, frame by frame: force, centre of pressure and pressure from its
motion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import PATCH, PRESSING
from kernels.contact.prescribed import BodyMotion, Prescribed
from kernels.contact.pressure_field import Grid
from kernels.contact.standing_foot import (
    FOOT,
    Toes,
    new_standing_work,
    press_grid,
    stand,
)
from kernels.joints.motions import ROTATES
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.methods.foot.foot_trial import LENGTH
from rtsim.methods.foot.prescribed_contacts import prescribed_contacts
from rtsim.methods.vectors import vector_product
from rtsim.models.load import load_model
from rtsim.models.model import Model, build
from rtsim.subjects.feet.foot_frame import third_metatarsal
from rtsim.subjects.feet.foot_marks import UP, in_order, ways

Array = NDArray[np.float64]

MIRROR = np.diag([1.0, 1.0, -1.0])
UPRIGHT = 0.5
"""Cosine of the angle between the vertical and the normal of the plane through heel and metatarsals, below
which this plane cannot be that of a sole."""


class FootAxes(NamedTuple):
    """The frame of a foot on its segment: origin at the heel, x towards metatarsal 3, metatarsal 1 in the
    plane of x and z.

    side : 0 a right foot, 1 a left one, as in the model
    length : distance from the heel to metatarsal 1 along x [m]
    """

    origin: Array  # (3,) [m]
    axes: Array  # (3, 3) - as columns
    side: int
    length: float


def foot_axes(marks: Mapping[str, Array], side: int, up: Array = UP) -> tuple[FootAxes, tuple[str, ...]]:
    """Determine the frame of a foot from its landmarks; also return notes for the user on exchanged labels.

    Exchanged labels of metatarsals are corrected by their medio-lateral order.

    marks : landmark, such as "metatarsal_1" -> (3,) position [m]
    side : 0 a right foot, 1 a left one; up : (3,) upward direction in the axes of the landmarks, in standing
    """
    up = up / np.linalg.norm(up)
    _, to_right = ways(marks, up)
    labels, notes = in_order(marks, to_right if side else -to_right)
    ordered = {role: marks[labelled] for role, labelled in labels.items()}
    third, _ = third_metatarsal(ordered)
    heel = ordered["calcaneus"]
    x, across = third - heel, ordered["metatarsal_1"] - heel
    x = x / np.linalg.norm(x)
    normal = np.cross(x, across)  # forwards x medial is up on a right foot
    if not np.linalg.norm(normal) > 1e-3:
        raise ConfigError("heel and metatarsals lie on one line", where="foot", remedy="check the markers")
    y = normal / np.linalg.norm(normal) * (-1.0 if side else 1.0)
    if not y @ up > UPRIGHT:
        raise ConfigError(
            "heel and metatarsals lie in a plane that cannot be that of a sole", where="foot",
            remedy="check the labels of the foot, and which axis is up",
        )  # fmt: skip
    return FootAxes(heel, np.stack([x, y, np.cross(x, y)], axis=1), side, float(across @ x)), notes


def on_sole(found: FootAxes, up: Array, height: float, spec: FootSpec, load: float) -> FootAxes:
    """Rotate the frame of a foot until its sole is level, and move it to the height at which the contact
    model, on level ground, produces the normal force `load` [N].

    up : (3,) normal of the ground in standing, in the axes of the segment on which the frame is found
    height : height of the heel above the ground, measured in standing [m]
    """
    y = up / np.linalg.norm(up)
    x = found.axes[:, 0] - y * (y @ found.axes[:, 0])
    x /= np.linalg.norm(x)
    flat = BodyMotion(np.zeros((1, 3)), np.eye(3)[None], np.zeros((1, 3)), np.zeros((1, 3)))
    foot = FootContact(contact_foot(spec, found.length, found.side), levelling(spec))
    foot.take(flat, 0, np.zeros(3), UP, load)
    origin = found.origin - (height - float(foot.raised[0])) * y
    return found._replace(origin=origin, axes=np.stack([x, y, np.cross(x, y)], axis=1))


def levelling(spec: FootSpec) -> FootSpec:
    """Return the settings of a foot with those changes that make FootContact raise or lower the foot until it
    bears a given normal force, however small this is.
    """
    return msgspec.structs.replace(spec, level="plates", least_force_N=1e-6, raised_mm=0.0, grid=(1, 1))


def centre_on(moment: Array, force: Array, height: float, least: float) -> Array:
    """Return the point (3,) at which a force acts on level ground [m]; NaN if its normal component is below
    `least` [N].

    moment : (3,) about the origin of ground [N m]
    force : (3,) [N]
    height : of the level ground [m]
    """
    x, _, z = moment - vector_product((0.0, height, 0.0), force)
    up = float(force[1]) if force[1] >= least else math.nan
    return np.array([z / up, height, -x / up])


class ContactFoot(NamedTuple):
    """A foot model that is scaled to one foot, and whose motion can be prescribed."""

    contacts: Prescribed
    toes: Toes
    size: float  # scale factor [1]
    names: tuple[str, ...]  # of the contacts


def contact_foot(spec: FootSpec, length: float, side: int) -> ContactFoot:
    """Return a foot model scaled to a foot of a length [m], whose motion can be prescribed; side : 0
    right, 1 left.
    """
    if not LENGTH[0] <= 1e3 * length <= LENGTH[1]:
        raise ConfigError(
            f"the first metatarsal is {1e3 * length:.0f} mm in front of the heel", where="foot",
            allowed=f"{LENGTH[0]:.0f} to {LENGTH[1]:.0f} mm", remedy="check the labels of the foot",
        )  # fmt: skip
    model = build(load_model(spec.model))
    toes = toes_of(model)
    size = length / float(toes.origin[0]) if spec.scaled else 1.0
    given = prescribed_contacts(model)
    contacts = given.contacts
    if contacts.radii_b.any() or (contacts.spread == 0).any():
        raise ConfigError(
            "a contact has a geometry or a force law that is not supported for feet",
            where=f"model {model.name}", allowed="volumetric ellipsoids and spheres on planes",
            remedy="give another model for foot.model",
        )  # fmt: skip
    centre, rotation = size * contacts.centre, contacts.rotation
    origin, axis = size * toes.origin, toes.axis
    if side == 1:
        centre, origin = centre @ MIRROR, MIRROR @ origin
        rotation = MIRROR @ rotation @ MIRROR
        axis = -(MIRROR @ axis)  # a mirror image turns the other way round
    made = contacts._replace(
        centre=np.ascontiguousarray(centre),
        rotation=np.ascontiguousarray(rotation),
        radii=size * contacts.radii,
        point=contacts.point.copy(),
        normal=np.tile([0.0, 1.0, 0.0], (len(centre), 1)),
        surface_velocity=np.tile([spec.ground_m_s[0], 0.0, spec.ground_m_s[1]], (len(centre), 1)),
    )
    return ContactFoot(given._replace(contacts=made), Toes(origin, axis), size, model.names.contacts)


def toes_of(model: Model) -> Toes:
    """Return the joint between the toes (second body of a foot model) and the foot; ConfigError if the model
    is not a foot.
    """
    tree = model.tree
    turns = tree.dof_rotates[tree.dof_body == 1].tolist()
    hinged = len(tree.parent) == 2 and tree.parent[1] == 0 and turns == [ROTATES]
    if not hinged or not tree.position_in_parent[1, 0] > 0.0:
        raise ConfigError(
            "the model must be a foot with toes on a hinge; the bodies of this model are "
            f"{name_some(model.names.bodies)}",
            where=f"model {model.name}", allowed="a foot and, on a hinge, its toes",
            remedy="give another model for foot.model",
        )  # fmt: skip
    if not np.allclose(tree.rotation_in_parent[1], np.eye(3)):
        raise ConfigError(
            "the frame of the toes' joint is rotated relative to the foot", where=f"model {model.name}",
            remedy="give the axis of the toes in the axes of the foot, and no turned_deg",
        )  # fmt: skip
    return Toes(tree.position_in_parent[1].copy(), tree.parameter[1].copy())


def extent(foot: ContactFoot) -> tuple[Array, Array]:
    """Return the least and greatest coordinates (3,) of the foot's contact ellipsoids, in its axes with toes
    straight [m]."""
    contacts, body = foot.contacts.contacts, foot.contacts.pairs.body_a
    middle = contacts.centre + np.where(body[:, None] == FOOT, 0.0, foot.toes.origin)
    reach = np.linalg.norm(contacts.rotation * contacts.radii[:, None, :], axis=2)
    return (middle - reach).min(axis=0), (middle + reach).max(axis=0)


class FootContact:
    """The contact of one foot with the ground, frame by frame.

    Attributes
    ----------
    force : (3,) force [N]
    centre : (3,) centre of pressure on the plane [m]
    free : (1,) moment about the plane's normal through the centre of pressure [N m]
    raised : (1,) height by which the measured position of the foot was raised, so that the normal force is
        the known one [m]
    normal : (n_contact,) normal force of each contact [N]
    pressure : (n_row, n_column) pressure at the cells of a grid on the ground that moves with the foot [Pa]
    covered : whether this grid is as large as the whole foot
    work : working space of the kernels
    """

    def __init__(self, foot: ContactFoot, spec: FootSpec) -> None:
        self.foot, self.spec = foot, spec
        self.work = new_standing_work(foot.contacts)
        rows, columns = spec.grid
        self.force, self.centre = np.full(3, np.nan), np.full(3, np.nan)
        self.free, self.raised = np.full(1, np.nan), np.full(1, np.nan)
        self.normal = np.full(len(foot.contacts.contacts.pair), np.nan)
        self.pressure = np.full((rows, columns), np.nan)
        along, across = (1e-3 * x for x in spec.cell_mm)
        self._grid = Grid(np.zeros(3), np.zeros(3), np.zeros(3), np.array([across, along]))
        low, high = (end[[0, 2]] for end in extent(foot))
        half = 0.5 * np.array([along * rows, across * columns])
        self._first = 0.5 * (low + high) - half + 0.5 * np.array([along, across])
        self.covered = bool((0.5 * (high - low) <= half).all())
        self._raised = 1e-3 * spec.raised_mm

    def forget(self) -> None:
        """Discard the force, centre of pressure and pressure of the present frame."""
        for row in (self.force, self.centre, self.free, self.raised, self.normal, self.pressure):
            row[...] = math.nan

    def take(self, motion: BodyMotion, k: int, point: Array, normal: Array, target: float) -> None:
        """Compute force, centre of pressure and pressure of foot k, in a given motion above a ground plane.

        motion, k : motion of several feet, and the index of this foot among them
        point, normal : (3,) a point of the plane and its normal
        target : known normal force [N]; NaN = unknown: then there is no result for a foot whose height is
            determined by that force
        """
        contacts = self.foot.contacts.contacts
        contacts.point[:], contacts.normal[:] = point, normal
        told = self.spec.level != "given"
        if told and math.isnan(target):
            self.forget()  # a height that nothing tells would be a guess
            return
        if told and target < self.spec.least_force_N:
            self._lift()
            return
        found = stand(
            self.foot.contacts, motion, k, self.foot.toes, target if told else 0.0, self._raised, self.work
        )
        if math.isnan(found):
            self.forget()
            return
        self._raised = found
        self.raised[0] = found
        self._sum_up(point, normal)
        self._press(point, normal)

    def _lift(self) -> None:
        """Set force and pressure of a foot to zero and its centre of pressure to NaN, as the plates show
        no load on it.
        """
        for row in (self.force, self.free, self.normal, self.pressure):
            row[...] = 0.0
        self.centre[:], self.raised[0] = math.nan, math.nan

    def _sum_up(self, point: Array, normal: Array) -> None:
        """Compute force, centre of pressure and free moment of all contacts together; point, normal : (3,) a
        point and the normal of the ground plane
        """
        work = self.work.contacts
        wrench = work.wrench.sum(axis=0)
        self.normal[:] = np.where(work.contacts.state[:, PATCH] > 0.0, work.contacts.state[:, PRESSING], 0.0)
        self.force[:] = wrench[3:]
        press = float(normal @ self.force)
        if not press > 0.0:
            self.centre[:], self.free[0] = math.nan, 0.0
            return
        moment = wrench[:3] - vector_product(point, self.force)  # about the point of the plane
        self.centre[:] = point + vector_product(normal, moment) / press
        self.free[0] = normal @ (wrench[:3] - vector_product(self.centre, self.force))

    def _press(self, point: Array, normal: Array) -> None:
        """Compute the pressure over a grid on the ground that moves with the foot; it lies about the middle
        of the foot, along its long axis.

        point, normal : (3,) a point and the normal of the ground plane
        """
        motion, grid = self.work.motion, self._grid
        forward = motion.rotation[FOOT, :, 0] - normal * (normal @ motion.rotation[FOOT, :, 0])
        forward /= max(float(np.linalg.norm(forward)), 1e-9)
        right = vector_product(forward, normal)
        heel = motion.position[FOOT] - normal * (normal @ (motion.position[FOOT] - point))
        start = heel + self._first[0] * forward + self._first[1] * right
        grid.corner[:], grid.along_row[:], grid.along_column[:] = start, right, forward
        press_grid(self.foot.contacts, grid, self.work, self.pressure)
