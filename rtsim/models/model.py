"""A model converted to kernel parameters for one person, once for all methods with the same joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constraints import Constraints
from kernels.dynamics.rolling import Rolls
from kernels.dynamics.system import System
from kernels.forces.assembly import ForceElements
from kernels.forces.path_forces import PathForces
from kernels.joints.couplers import Couplers
from kernels.joints.joint_angles import JointAxes
from kernels.joints.tree import Tree
from kernels.markers.marker_cost import ModelMarkers
from kernels.muscle.hill import Muscles
from kernels.path.angles import Angles
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.rosenbrock.holds import Holds
from kernels.solver.constraints import Elements, Roles
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.packing.bodies import (
    Outline,
    body_index,
    pack_bodies,
    pack_joint_axes,
    pack_markers,
    pack_outline,
)
from rtsim.models.packing.couplers import (
    check_timeless,
    follow_couplers,
    named_rotations,
    pack_angles,
    pack_couplers,
)
from rtsim.models.packing.driven_generators import generator_names
from rtsim.models.packing.elements import (
    Lengths,
    Reported,
    ScalarElement,
    pack_elements,
    pack_lengths,
    pack_reported,
    scalar_elements,
)
from rtsim.models.packing.forces import pack_forces
from rtsim.models.packing.functions import FunctionTable
from rtsim.models.packing.joints import Coordinates, joints_of, neutral_coordinates, pack_coordinates
from rtsim.models.packing.muscles import pack_hill, pack_stations, pack_surfaces
from rtsim.models.packing.path_forces import pack_pulls
from rtsim.models.packing.reactions import Reactions, pack_reactions
from rtsim.models.packing.rolls import pack_rolls
from rtsim.models.packing.tree import build_tree
from rtsim.models.registration import registered
from rtsim.models.roles import find_method, joint_kinds
from rtsim.subjects.anatomy import Anatomy, for_person
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Names:
    """Names of the parts of a model, such as bodies, markers and muscles. Their order is that in which Model
    stores the parts of each kind."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]  # of each body's joint
    markers: tuple[str, ...]
    elements: tuple[str, ...]
    rolls: tuple[str, ...]
    muscles: tuple[str, ...]
    surfaces: tuple[str, ...]
    angles: tuple[str, ...]  # of model.angles: every coordinate, then the named ones
    joint_angles: tuple[str, ...]  # of model.joints, three of each
    lines: tuple[str, ...]  # straight ligaments, then springs between places
    pulling: tuple[str, ...]  # muscles with a force
    wrapping: tuple[str, ...]  # ligaments along paths
    contacts: tuple[str, ...]
    frictions: tuple[str, ...]
    loads: tuple[str, ...]
    generators: tuple[str, ...]
    holds: tuple[str, ...] = ()  # scalar constraints of model.holds


@dataclass(frozen=True)
class Model:
    """A model as tables of numbers for the compiled kernels, with the kinds of joints that one of its marker
    methods uses. All functions of coordinates (of joints, couplers and angles) are in tree.functions.
    """

    name: str
    system: System  # bodies, their joints and masses, gravity
    coordinates: Coordinates
    couplers: Couplers
    rolls: Rolls | None  # None where nothing rolls
    elements: Elements
    lengths: Lengths  # of the ligaments among the elements, over flexion
    reported: Reported  # elements whose lengthening or contact point is a result
    reactions: Reactions  # one-sided forces of elements, for the recruitment of muscles
    forces: ForceElements
    stations: Stations
    surfaces: Surfaces
    muscles: Muscles
    pulls: PathForces | None  # muscles that pull in a simulation, None where none has a force
    angles: Angles  # every coordinate, then the named ones
    angle_is_rotation: NDArray[np.bool_]  # (n_angle,) - False where the "angle" is a length [m]
    markers: ModelMarkers
    joints: JointAxes
    joint_signs: Array  # (n_joint, 3) - factors +-1 of the joint angles in results
    joint_ranges: Array  # (3 n_joint, 2) - plausible ranges of angles in results; infinite = not given [rad]
    centre_on_proximal: NDArray[np.int64]  # (n_joint,) - 1 = the joint's centre is fixed in the proximal body
    mirrored: NDArray[np.bool_]  # (n_body,) - left side: its results have the signs of a right side
    outline: Outline
    q_neutral: Array  # (n_q,) - satisfies the couplers, but not always the constraints of elements
    names: Names
    holds: Holds | None = None  # exact constraints of a simulation (models/packing/holds); None = none
    registered: tuple[str, ...] = ()  # bodies whose joint parts are placed on the bones of the person

    @property
    def tree(self) -> Tree:
        return self.system.tree

    @property
    def n_v(self) -> int:
        return len(self.tree.dof_body)

    def constraints(self, roles: Roles) -> Constraints:
        """Return the tables of constraints for the kernels of constrained dynamics and moment arms; roles :
        which elements a method uses as hard or soft constraints, with weights and targets"""
        check_timeless(self.tree, self.couplers)
        return Constraints(self.elements, roles, self.couplers, self.rolls)


def build(spec: ModelSpec, subject: Subject | None = None, method: str | None = None) -> Model:
    """Build the model with the kinds of joints that one of its marker methods uses (None = the first method).

    subject : person whose anatomy scales the model, with its optional bodies; not needed if no position of
        the model depends on it
    """
    if subject is not None:
        spec = for_person(spec, subject)
    how = find_method(spec, method)
    anatomy = Anatomy(spec, subject)
    spec, on_bones = registered(spec, anatomy, subject)
    index, functions, rows = body_index(spec), FunctionTable(), scalar_elements(spec)
    joints = joints_of(spec, how, anatomy, index, functions)
    coordinates = pack_coordinates(spec, how, joints)
    couplers = pack_couplers(spec, coordinates, functions)
    angles = pack_angles(spec, coordinates, functions)
    stations = pack_stations(spec, anatomy, index, coordinates, functions, spec.muscles)
    ligaments = tuple(ligament.path for ligament in spec.wrapping)
    wrapping = pack_stations(spec, anatomy, index, coordinates, functions, ligaments)
    tree = build_tree(joints, functions.build())
    q_neutral = neutral_coordinates(tree, coordinates)
    follow_couplers(couplers, functions, q_neutral)
    markers, marker_names = pack_markers(spec, subject, anatomy)
    surfaces, muscles = (
        pack_surfaces(spec, anatomy, index),
        pack_hill([muscle.hill for muscle in spec.muscles]),
    )
    return Model(
        name=spec.name,
        system=System(tree, pack_bodies(spec), np.array(spec.gravity_m_s2, float)),
        coordinates=coordinates,
        couplers=couplers,
        rolls=pack_rolls(spec, anatomy, index),
        elements=pack_elements(rows, anatomy, index, tree),
        lengths=pack_lengths(spec, rows, anatomy),
        reported=pack_reported(spec, rows),
        reactions=pack_reactions(spec, rows),
        forces=pack_forces(spec, anatomy, index, coordinates, tree, q_neutral),
        stations=stations,
        surfaces=surfaces,
        muscles=muscles,
        pulls=pack_pulls(spec, tree, stations, wrapping, surfaces, muscles),
        angles=angles,
        angle_is_rotation=np.concatenate([coordinates.is_angle, named_rotations(spec, coordinates)]),
        markers=markers,
        joints=pack_joint_axes(spec, anatomy, index),
        joint_signs=np.array([body.angles.signs for body in spec.bodies if body.angles]).reshape(-1, 3),
        joint_ranges=np.array([body.angles.ranges for body in spec.bodies if body.angles]).reshape(-1, 2),
        centre_on_proximal=np.array(
            [body.angles.centre == "proximal" for body in spec.bodies if body.angles], np.int64
        ),
        mirrored=np.array([body.mirrored for body in spec.bodies]),
        outline=pack_outline(spec, anatomy),
        q_neutral=q_neutral,
        names=names_of(spec, coordinates, rows, marker_names),
        registered=tuple(on_bones),
    )


def build_each(
    spec: ModelSpec, subject: Subject | None = None, methods: Iterable[str] = ()
) -> dict[str, Model]:
    """Build the model for each method; methods with the same joints share one."""
    built: dict[tuple, Model] = {}
    for method in methods:
        kinds = joint_kinds(spec, method)
        if kinds not in built:
            built[kinds] = build(spec, subject, method)
    return {method: built[joint_kinds(spec, method)] for method in methods}


def names_of(
    spec: ModelSpec, coordinates: Coordinates, rows: list[ScalarElement], markers: tuple[str, ...]
) -> Names:
    """Return the names of bodies, joints, markers, elements, muscles and all other parts of a model."""
    return Names(
        bodies=tuple(body.name for body in spec.bodies),
        joints=tuple(body.joint_name or body.name for body in spec.bodies),
        markers=markers,
        elements=tuple(row.name for row in rows),
        rolls=tuple(roll.name for roll in spec.rolls),
        muscles=tuple(muscle.name for muscle in spec.muscles),
        surfaces=tuple(surface.name for surface in spec.surfaces),
        angles=(*coordinates.names, *(angle.name for angle in spec.angles)),
        joint_angles=tuple(name for body in spec.bodies if body.angles for name in body.angles.names),
        lines=(
            *(ligament.name for ligament in spec.ligaments if ligament.pulls and not ligament.through),
            *(spring.name for spring in spec.springs if not spring.coordinate),
        ),
        pulling=tuple(muscle.name for muscle in spec.muscles if muscle.hill is not None),
        wrapping=tuple(ligament.name for ligament in spec.wrapping),
        contacts=tuple(contact.name for contact in spec.contacts if contact.presses),
        frictions=tuple(friction.name for friction in spec.frictions),
        loads=tuple(load.name for load in spec.loads),
        generators=generator_names(spec),
    )
