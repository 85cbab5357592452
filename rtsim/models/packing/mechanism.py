"""Build the parameters of dynamics and moment arms from a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.constraints import Elements, Roles
from kernels.dynamics.constraints import Constraints, Couplers
from kernels.dynamics.inertia import Bodies
from kernels.dynamics.system import System
from kernels.forces.assembly import Forces
from kernels.functions import IDENTITY
from kernels.muscle.hill import Muscles
from kernels.path.angles import Angles
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from rtsim.config.model_schema import ModelSpec
from rtsim.models.anatomy import Anatomy
from rtsim.models.packing.forces import pack_forces
from rtsim.models.packing.functions import FunctionTable, value
from rtsim.models.packing.joints import Coordinates, joints_of, neutral_coordinates, pack_coordinates
from rtsim.models.packing.model import body_index, find_method, pack_elements, pack_roles, scalar_elements
from rtsim.models.packing.muscles import pack_hill, pack_stations, pack_surfaces
from rtsim.models.packing.tree import build_tree
from rtsim.models.subject import Subject

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mechanism:
    """One model, ready for dynamics and moment arms; all functions are in system.tree.functions."""

    name: str
    system: System
    elements: Elements
    roles: Roles
    couplers: Couplers
    stations: Stations
    surfaces: Surfaces
    muscles: Muscles
    forces: Forces
    angles: Angles  # every coordinate, then the named ones
    q_neutral: Array  # (n_q,) - couplers hold there; elements may not
    coordinate_names: tuple[str, ...]
    coordinate_q: NDArray[np.int64]  # (n_coordinate,) - index in q
    coordinate_dof: NDArray[np.int64]  # (n_coordinate,) - index in v
    coordinate_range: Array  # (n_coordinate, 2) [rad, m], infinite where none is given
    coordinate_is_angle: NDArray[np.bool_]  # (n_coordinate,)
    body_names: tuple[str, ...]
    element_names: tuple[str, ...]
    muscle_names: tuple[str, ...]
    angle_names: tuple[str, ...]
    angle_is_rotation: NDArray[np.bool_]  # (n_angle,) - False where a length is meant, in metres
    surface_names: tuple[str, ...]
    line_names: tuple[str, ...]  # ligaments, then springs between places
    contact_names: tuple[str, ...]
    friction_names: tuple[str, ...]
    load_names: tuple[str, ...]

    @property
    def n_v(self) -> int:
        return len(self.system.tree.dof_body)

    @property
    def constraints(self) -> Constraints:
        """What the kernels of constrained dynamics and moment arms read."""
        return Constraints(self.elements, self.roles, self.couplers)


def pack_mechanism(spec: ModelSpec, subject: Subject | None = None, method: str | None = None) -> Mechanism:
    """Kernel parameters of a model with one of its methods (the first, if none is named).

    subject : whose anatomy scales the model; not needed where no place of the model asks for it
    """
    how = find_method(spec, method or next(iter(spec.methods)))
    anatomy = Anatomy(spec, subject)
    index, functions, rows = body_index(spec), FunctionTable(), scalar_elements(spec)
    joints = joints_of(spec, how, anatomy, index, functions)
    coordinates = pack_coordinates(spec, how, joints)
    couplers = pack_couplers(spec, coordinates, functions)
    angles = pack_angles(spec, coordinates, functions)
    stations = pack_stations(spec, anatomy, index, coordinates, functions)
    tree = build_tree(joints, functions.build())
    q_neutral = neutral_coordinates(tree, coordinates)
    follow_couplers(couplers, functions, q_neutral)
    return Mechanism(
        name=spec.name,
        system=System(tree, pack_bodies(spec), np.array(spec.gravity_m_s2, float)),
        elements=pack_elements(rows, anatomy, index, tree),
        roles=pack_roles(rows, how, subject),
        couplers=couplers,
        stations=stations,
        surfaces=pack_surfaces(spec, anatomy, index),
        muscles=pack_hill(spec),
        forces=pack_forces(spec, anatomy, index, coordinates, tree, q_neutral),
        angles=angles,
        q_neutral=q_neutral,
        coordinate_names=coordinates.names,
        coordinate_q=coordinates.q,
        coordinate_dof=coordinates.dof,
        coordinate_range=coordinates.range,
        coordinate_is_angle=coordinates.is_angle,
        body_names=tuple(body.name for body in spec.bodies),
        element_names=tuple(row.name for row in rows),
        muscle_names=tuple(muscle.name for muscle in spec.muscles),
        angle_names=(*coordinates.names, *(angle.name for angle in spec.angles)),
        angle_is_rotation=np.concatenate([coordinates.is_angle, named_rotations(spec, coordinates)]),
        surface_names=tuple(surface.name for surface in spec.surfaces),
        line_names=(
            *(ligament.name for ligament in spec.ligaments),
            *(spring.name for spring in spec.springs if not spring.coordinate),
        ),
        contact_names=tuple(contact.name for contact in spec.contacts),
        friction_names=tuple(friction.name for friction in spec.frictions),
        load_names=tuple(load.name for load in spec.loads),
    )


def pack_bodies(spec: ModelSpec) -> Bodies:
    """Mass properties; a body that has none is a frame between others."""
    n = len(spec.bodies)
    inertia = np.zeros((n, 3, 3))
    for b, body in enumerate(spec.bodies):
        xx, yy, zz, xy, xz, yz = (*body.inertia_kg_m2, 0.0, 0.0, 0.0)[:6]
        inertia[b] = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return Bodies(
        np.array([body.mass_kg for body in spec.bodies], float),
        1e-3 * np.array([body.mass_centre_mm for body in spec.bodies], float),
        inertia,
    )


def pack_couplers(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Couplers:
    """Couplers in the file's order; a prescribed coordinate drives itself by a constant."""
    follower, driver, function = [], [], []
    for coupler in spec.couplers:
        where = f"couplers.{coupler.coordinate}"
        follower.append(coordinates.find(coupler.coordinate, where))
        driver.append(coordinates.find(coupler.of or coupler.coordinate, where))
        function.append(functions.add(coupler))
    own, other = np.array(follower, np.int64), np.array(driver, np.int64)
    return Couplers(
        coordinates.q[own],
        coordinates.dof[own],
        coordinates.q[other],
        coordinates.dof[other],
        np.array(function, np.int64),
    )


def pack_angles(spec: ModelSpec, coordinates: Coordinates, functions: FunctionTable) -> Angles:
    """Every coordinate by itself, then the named angles."""
    n = len(coordinates.names)
    terms = [(k, IDENTITY, 1.0) for k in range(n)]
    start = list(range(n + 1))
    for angle in spec.angles:
        for term in angle.terms:
            k = coordinates.find(term.of, f"angles.{angle.name}")
            terms.append((k, functions.add(term), term.weight))
        start.append(len(terms))
    at = np.array([k for k, _, _ in terms], np.int64)
    return Angles(
        np.array(start, np.int64),
        coordinates.q[at],
        coordinates.dof[at],
        np.array([function for _, function, _ in terms], np.int64),
        np.array([weight for *_, weight in terms], float),
    )


def named_rotations(spec: ModelSpec, coordinates: Coordinates) -> NDArray[np.bool_]:
    """(n_named,) - whether each named angle is one: unless it is made of lengths alone, without functions."""
    lengths = {name for name, turns in zip(coordinates.names, coordinates.is_angle, strict=True) if not turns}
    return np.array(
        [not all(t.is_identity and t.of in lengths for t in angle.terms) for angle in spec.angles], np.bool_
    )


def follow_couplers(couplers: Couplers, functions: FunctionTable, q: Array) -> None:
    """Move coupled coordinates of q : (n_q,) to where their couplers put them, drivers first."""
    drivers = dict(zip(couplers.coordinate, couplers.driver, strict=True))
    numbers = dict(zip(couplers.coordinate, couplers.function, strict=True))
    while drivers:
        # a prescribed coordinate waits for itself, and no circle of couplers passes the checks of the schema
        for k in [k for k, driver in drivers.items() if driver == k or driver not in drivers]:
            q[k] = value(functions.rows[numbers[k]], float(q[drivers.pop(k)]))
