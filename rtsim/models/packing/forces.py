"""Force elements of a model, written into the tables of kernels/forces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

import kernels.contact.geometries
import kernels.contact.pressure
import kernels.forces.friction
from kernels.contact.elements import Contacts
from kernels.contact.pressure import N_PRESSURE, normal_force
from kernels.forces.assembly import ForceElements
from kernels.forces.friction import N_FRICTION
from kernels.forces.frictions import Frictions
from kernels.forces.ligament import (
    LINEAR,
    N_LIGAMENT,
    TOE_LINEAR,
    slack_length_from_reference,
    slack_length_from_stiffnesses,
    toe_from_strain_stiffness,
)
from kernels.forces.lines import LineElements
from kernels.forces.loads import PointLoads
from kernels.forces.pairs import Pairs
from kernels.forces.springs import Springs
from kernels.joints.tree import Pose, Tree, new_pose, pose
from rtsim.config.models.contact_schema import Contact
from rtsim.config.models.force_schema import Ligament, Spring
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.place_schema import GROUND, Place
from rtsim.errors import ConfigError
from rtsim.models.packing.driven_generators import pack_driven_generators
from rtsim.models.packing.elements import path_between
from rtsim.models.packing.joints import Coordinates, turned
from rtsim.models.packing.mesh_contacts import pack_mesh_contacts
from rtsim.subjects.anatomy import Anatomy
from rtsim.subjects.calibration.natural import unit

Array = NDArray[np.float64]


class PairTable:
    """Table of the pairs of bodies between which force elements act; each pair gets its index when the first
    element requests it.
    """

    def __init__(self, tree: Tree, index: dict[str, int]) -> None:
        self.tree, self.index = tree, index
        self.rows: list[tuple[int, int]] = []

    def find(self, a: str, b: str, where: str) -> int:
        """Return the index of the pair of the segments a and b in this table, to which a new pair is added;
        ConfigError if no joint moves them relative to each other.

        where : the element that acts between them, for the error
        """
        pair = self.index[a], self.index[b]
        if not path_between(self.tree, *pair):
            raise ConfigError(
                f"no joint moves {a} and {b} relative to each other",
                where=where,
                remedy="join segments that a joint moves, or remove the element",
            )
        if pair not in self.rows:
            self.rows.append(pair)
        return self.rows.index(pair)

    def build(self) -> Pairs:
        """Return the pairs of bodies between which force elements act as the record Pairs of
        kernels/forces/pairs: for each pair its two bodies and the dofs between them.
        """
        paths = [path_between(self.tree, a, b) for a, b in self.rows]
        width = max((len(path) for path in paths), default=0) or 1
        path = np.zeros((len(paths), width), np.int64)
        side = np.zeros((len(paths), width))
        for p, steps in enumerate(paths):
            for k, (dof, sign) in enumerate(steps):
                path[p, k], side[p, k] = dof, sign
        return Pairs(
            np.array([a for a, _ in self.rows], np.int64),
            np.array([b for _, b in self.rows], np.int64),
            np.array([len(steps) for steps in paths], np.int64),
            path,
            side,
        )


def pack_forces(
    spec: ModelSpec, anatomy: Anatomy, index: dict[str, int], coordinates: Coordinates, tree: Tree, q: Array
) -> ForceElements:
    """Pack all force elements; q : (n_q,) the neutral pose, for lengths that a model does not state."""
    pairs = PairTable(tree, index)
    at_rest = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    if spec.springs or any(
        ligament.pulls for ligament in spec.ligaments
    ):  # a model without them needs no compiled kernel yet
        pose(tree, q, at_rest)
    lines = pack_lines(spec, anatomy, pairs, at_rest)
    contacts = pack_contacts(spec, anatomy, pairs)
    frictions = pack_frictions(spec, anatomy, pairs)
    loads = pack_loads(spec, anatomy, pairs)
    springs, generators = pack_springs(spec, coordinates), pack_driven_generators(spec, coordinates)
    return ForceElements(
        pairs=pairs.build(),
        lines=lines,
        contacts=contacts,
        frictions=frictions,
        loads=loads,
        springs=springs,
        generators=generators,
    )


def pack_lines(spec: ModelSpec, anatomy: Anatomy, pairs: PairTable, at_rest: Pose) -> LineElements:
    """Pack the ligaments with a force law, then the springs between points.

    at_rest : poses of the bodies in the neutral pose, which give lengths that the model does not state
    """
    pair, law, ends, parameters = [], [], [], []
    springs = [spring for spring in spec.springs if spring.a is not None]
    for kind, element in [("ligaments", x) for x in pulling(spec)] + [("springs", x) for x in springs]:
        where = f"{kind}.{element.name}"
        a, b = element.a, element.b
        assert a is not None
        assert b is not None
        points = anatomy.place(a, a.segment, where), anatomy.place(b, b.segment, where)
        length = distance(at_rest, pairs.index[a.segment], pairs.index[b.segment], points)
        pair.append(pairs.find(a.segment, b.segment, where))
        ends.append(points)
        if isinstance(element, Ligament):
            law.append(TOE_LINEAR)
            parameters.append(ligament_row(element, length))
        else:
            law.append(LINEAR)
            parameters.append(spring_row(element, length))
    return LineElements(
        np.array(pair, np.int64),
        np.array(law, np.int64),
        np.array([x for x, _ in ends], float).reshape(-1, 3),
        np.array([x for _, x in ends], float).reshape(-1, 3),
        np.array(parameters, float).reshape(-1, N_LIGAMENT),
    )


def pulling(spec: ModelSpec) -> list[Ligament]:
    """Return the ligaments that follow a straight line and have a force law."""
    return [ligament for ligament in spec.ligaments if ligament.pulls and not ligament.through]


def distance(at_rest: Pose, body_a: int, body_b: int, points: tuple[Array, Array]) -> float:
    """Compute the distance between two points of bodies, or of ground (-1) [m]."""
    a, b = (
        x if body < 0 else at_rest.position[body] + at_rest.rotation[body] @ x
        for body, x in zip((body_a, body_b), points, strict=True)
    )
    return float(np.linalg.norm(a - b))


def ligament_row(ligament: Ligament, neutral_length: float) -> tuple[float, ...]:
    """Return the parameters of kernels/forces/ligament for a ligament, from whichever of the two sets of
    parameters its record in the file has."""
    strain = ligament.threshold_strain
    slack = None if ligament.slack_length_mm is None else 1e-3 * ligament.slack_length_mm
    if ligament.reference_strain is not None:
        mm = ligament.reference_length_mm
        slack = slack_length_from_reference(
            neutral_length if mm is None else 1e-3 * mm, ligament.reference_strain
        )
    if ligament.stiffness_N is not None:
        assert slack is not None
        toe, linear = toe_from_strain_stiffness(ligament.stiffness_N, slack, strain)
    else:
        assert ligament.toe_stiffness_N_mm2 is not None
        assert ligament.linear_stiffness_N_mm is not None
        toe, linear = 1e6 * ligament.toe_stiffness_N_mm2, 1e3 * ligament.linear_stiffness_N_mm
        if slack is None:
            slack = slack_length_from_stiffnesses(toe, linear, strain)
    return slack, toe, linear, strain, ligament.damping_N_s_m, 1e-3 * ligament.damping_onset_mm


def spring_row(spring: Spring, neutral_length: float) -> tuple[float, ...]:
    """Return the parameters of kernels/forces/ligament for a spring [m, N/m, N s/m]; without rest_mm its rest
    length is that in the neutral pose.
    """
    rest = neutral_length if spring.rest_mm is None else 1e-3 * spring.rest_mm
    return rest, 0.0, spring.stiffness or 0.0, 0.0, spring.damping or 0.0, 0.0


def pack_contacts(spec: ModelSpec, anatomy: Anatomy, pairs: PairTable) -> Contacts:
    contacts = [contact for contact in spec.contacts if contact.presses]
    keys = [f"contacts.{contact.name}" for contact in contacts]
    shapes = [contact.shape for contact in contacts]
    rows = [c.friction.row if c.friction else (0.0,) * N_FRICTION for c in contacts]
    spin_rows = [c.friction.spin_row if c.friction and c.spinning else (0.0,) * N_FRICTION for c in contacts]
    radii = millimetres([shape.radii_a_mm for shape in shapes])
    meshed = [shape.meshes is not None for shape in shapes]
    meshes, pressed = pack_mesh_contacts(
        [shape.meshes for shape in shapes if shape.meshes is not None],
        [
            [(turned(x), anatomy.place(x, x.segment, key)) for x in shape.meshes]
            for shape, key in zip(shapes, keys, strict=True)
            if shape.meshes is not None
        ],
    )
    return Contacts(
        pair=whole(pairs.find(c.a.segment, c.b.segment, key) for c, key in zip(contacts, keys, strict=True)),
        geometry=whole(number(kernels.contact.geometries, contact.geometry) for contact in contacts),
        centre=points([c.a for c in contacts], anatomy, keys),
        rotation=np.array([turned(c.a) for c in contacts], float).reshape(-1, 3, 3),
        radii=radii,
        round=whole(len(set(r)) == 1 and not m for r, m in zip(radii, meshed, strict=True)),
        point=points([c.b for c in contacts], anatomy, keys),
        normal=np.array([unit(np.array(shape.normal)) for shape in shapes], float).reshape(-1, 3),
        radii_b=millimetres([shape.radii_b_mm for shape in shapes]),
        surface_velocity=millimetres([shape.velocity_mm_s for shape in shapes]),
        law=whole(number(kernels.contact.pressure, contact.law) for contact in contacts),
        spread=whole(contact.is_spread for contact in contacts),
        pressure=np.array([contact.pressure_row for contact in contacts], float).reshape(-1, N_PRESSURE),
        friction_law=whole(
            number(kernels.forces.friction, c.friction.law) if c.friction else -1 for c in contacts
        ),
        friction=np.array(rows, float).reshape(-1, N_FRICTION),
        spin_friction=np.array(spin_rows, float).reshape(-1, N_FRICTION),
        rolls=whole(contact.rolling for contact in contacts),
        spins=whole(contact.spinning for contact in contacts),
        ramp=np.array([viscous_ramp(contact) for contact in contacts], float),
        mesh=whole(np.cumsum([-1, *meshed])[1:]),
        meshes=meshes,
        pressed=pressed,
    )


def number(module: ModuleType, name: str) -> int:
    """Return the integer by which the kernels know a kind, such as a force law: the constant of the kernels'
    module that is named like the kind, in capitals.
    """
    return int(getattr(module, name.upper()))


def whole(numbers: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(numbers), np.int64)


def millimetres(rows: Sequence[Sequence[float]]) -> Array:
    """Convert rows (n, 3) from millimetres to metres."""
    return 1e-3 * np.array(rows, float).reshape(-1, 3)


def points(places: Sequence[Place], anatomy: Anatomy, keys: Sequence[str]) -> Array:
    """Return the positions (n, 3) [m] of points that a model describes, each in the axes of its segment; keys
    : key of each point in the model's file, for errors
    """
    found = [anatomy.place(place, place.segment, key) for place, key in zip(places, keys, strict=True)]
    return np.array(found, float).reshape(-1, 3)


def viscous_ramp(contact: Contact) -> float:
    """Return the depth of a contact [m] at which its normal force reaches the transition force, above which
    viscous friction acts fully; 0 if the friction law has no transition force."""
    wets = contact.friction.wets_at_N if contact.friction else 0.0
    if not wets:
        return 0.0
    from scipy.optimize import brentq  # a quarter of a second: only where a contact needs it

    shape, row = contact.shape, np.array(contact.pressure_row)
    law, h = number(kernels.contact.pressure, contact.law), 1e-3 * min(shape.radii_a_mm)

    def missing(depth: float) -> float:
        return normal_force(law, row, depth, contact.kind.volume(shape, depth), 0.0)[0] - wets

    return float(brentq(missing, 0.0, 2.0 * h, xtol=1e-12 * h)) if missing(2.0 * h) > 0.0 else h


def pack_frictions(spec: ModelSpec, anatomy: Anatomy, pairs: PairTable) -> Frictions:
    frictions = spec.frictions
    keys = [f"frictions.{friction.name}" for friction in frictions]
    return Frictions(
        pair=np.array(
            [pairs.find(f.a.segment, f.b, key) for f, key in zip(frictions, keys, strict=True)], np.int64
        ),
        law=whole(number(kernels.forces.friction, f.friction.law) for f in frictions),
        point=points([f.a for f in frictions], anatomy, keys),
        direction=np.array([unit(np.array(f.direction)) for f in frictions], float).reshape(-1, 3),
        surface_velocity=1e-3 * np.array([f.velocity_mm_s for f in frictions], float),
        load=np.array([f.load_N for f in frictions], float),
        parameter=np.array([f.friction.row for f in frictions], float).reshape(-1, N_FRICTION),
    )


def pack_loads(spec: ModelSpec, anatomy: Anatomy, pairs: PairTable) -> PointLoads:
    loads = spec.loads
    keys = [f"loads.{load.name}" for load in loads]
    return PointLoads(
        pair=np.array(
            [pairs.find(x.at.segment, GROUND, key) for x, key in zip(loads, keys, strict=True)], np.int64
        ),
        point=points([load.at for load in loads], anatomy, keys),
        force=np.array([load.force_N for load in loads], float).reshape(-1, 3),
        turns=np.array([load.axes == "body" for load in loads], np.int64),
        start=np.array([load.start_s for load in loads], float),
        stop=np.array([np.inf if x.duration_s is None else x.start_s + x.duration_s for x in loads], float),
    )


def pack_springs(spec: ModelSpec, coordinates: Coordinates) -> Springs:
    """Write the springs that act on single coordinates, not between points, into the table Springs of
    kernels/forces/springs."""
    springs = [spring for spring in spec.springs if spring.coordinate]
    at = np.array([coordinates.find(s.coordinate, f"springs.{s.name}") for s in springs], np.int64)
    rest = [np.radians(s.rest_deg or 0.0) if s.is_angular else 1e-3 * (s.rest_mm or 0.0) for s in springs]
    return Springs(
        coordinate=coordinates.q[at],
        dof=coordinates.dof[at],
        rest=np.array(rest, float),
        stiffness=np.array([spring.stiffness or 0.0 for spring in springs], float),
        damping=np.array([spring.damping or 0.0 for spring in springs], float),
        moment=np.zeros(len(springs)),
    )
