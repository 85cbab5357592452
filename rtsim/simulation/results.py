"""What a simulation found, as named fields with units; only here is known where in a trace they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import DEPTH, FRICTION, NORMAL, PLACE, SLIDING
from kernels.forces.frictions import FORCE, SPEED
from kernels.forces.lines import LENGTH, TENSION
from kernels.tree import BALL, FREE, new_pose, pose
from rtsim.simulation.run import Run
from rtsim.simulation.simulator import Simulator
from streams.messages import FieldSpec

Array = NDArray[np.float64]

AXES, QUATERNION = ("x", "y", "z"), ("w", "x", "y", "z")
DEGREES = {"rad": "deg", "rad/s": "deg/s"}
"""Units at the face in place of those inside; lengths stay in metres, as OpenSim has them."""


class Field(NamedTuple):
    """One quantity of some things over time.

    labels : of the things; values : (n_row, n_label) or (n_row, n_label, n_part), SI
    column : name of a column, with {} for the label; parts : appended to it, one for each part of a value
    """

    name: str
    unit: str
    labels: tuple[str, ...]
    values: Array
    column: str
    parts: tuple[str, ...] = ()

    def columns(self) -> list[str]:
        """Names of the columns, in the order of the values."""
        names = [self.column.format(label) for label in self.labels]
        return [f"{name}_{part}" for name in names for part in self.parts] if self.parts else names

    def spec(self) -> FieldSpec:
        """Its entry in the descriptor of a stream."""
        return FieldSpec(self.name, self.values.shape[1:], self.unit, self.labels)


def fields_of(simulator: Simulator, done: Run) -> list[Field]:
    """Every quantity of a run; a thing that the model has none of leaves its field out."""
    fields = [*motion_fields(simulator, done), *joint_fields(simulator, done), *force_fields(simulator, done)]
    fields.append(Field("step_error", "1", ("step",), done.trace.error[:, None], "{}_error"))
    return [field for field in fields if field.labels]


def motion_fields(simulator: Simulator, done: Run) -> list[Field]:
    """Coordinates and their speeds: first the angles, then the lengths."""
    m, trace, fields = simulator.model, done.trace, []
    names = np.array(m.coordinates.names, object)
    kinds = (
        (m.coordinates.is_angle, "joint_angle", "rad"),
        (~m.coordinates.is_angle, "joint_displacement", "m"),
    )
    for chosen, name, unit in kinds:
        labels = tuple(names[chosen])
        fields.append(Field(f"{name}s", unit, labels, trace.q[:, m.coordinates.q[chosen]], "{}"))
    for chosen, name, unit in kinds:
        labels = tuple(names[chosen])
        rates = trace.v[:, m.coordinates.dof[chosen]]
        fields.append(Field(f"{name}_speeds", f"{unit}/s", labels, rates, "{}_speed"))
    return fields


def joint_fields(simulator: Simulator, done: Run) -> list[Field]:
    """Motion of ball and free joints, which have no coordinates, under the names of the bodies they carry."""
    tree, names, trace = simulator.model.tree, simulator.model.names.bodies, done.trace
    free = [b for b, kind in enumerate(tree.kind) if kind == FREE]
    turning = [b for b, kind in enumerate(tree.kind) if kind in (FREE, BALL)]
    q, v = tree.q_start, tree.v_start

    def part(table: Array, starts: list[int], n: int) -> Array:
        index = np.array([range(start, start + n) for start in starts], np.int64).reshape(-1, n)
        found: Array = table[:, index]
        return found

    shift = [3 if tree.kind[b] == FREE else 0 for b in turning]
    q_turn = [int(q[b]) + s for b, s in zip(turning, shift, strict=True)]
    v_turn = [int(v[b]) + s for b, s in zip(turning, shift, strict=True)]
    movers, turners = tuple(names[b] for b in free), tuple(names[b] for b in turning)
    return [
        Field("joint_positions", "m", movers, part(trace.q, [q[b] for b in free], 3), "{}", AXES),
        Field("joint_quaternions", "1", turners, part(trace.q, q_turn, 4), "{}_quaternion", QUATERNION),
        Field("joint_velocities", "m/s", movers, part(trace.v, [v[b] for b in free], 3), "{}_speed", AXES),
        Field("joint_turning", "rad/s", turners, part(trace.v, v_turn, 3), "{}_turning", AXES),
    ]


def force_fields(simulator: Simulator, done: Run) -> list[Field]:
    """Lines, contacts and frictions under a load; what does not touch has no place and no sliding."""
    m, trace = simulator.model, done.trace
    lines, contacts, frictions = m.names.lines, m.names.contacts, m.names.frictions
    out = trace.contact
    rubs = m.forces.contacts.friction_law >= 0
    rubbing = tuple(name for name, r in zip(contacts, rubs, strict=True) if r)
    touches = out[:, :, DEPTH, None] > 0.0
    place = np.where(touches, out[:, :, PLACE : PLACE + 3], np.nan)
    sliding = np.where(touches, out[:, :, SLIDING : SLIDING + 3], np.nan)[:, rubs]
    friction = out[:, rubs, FRICTION : FRICTION + 3]
    return [
        Field("ligament_forces", "N", lines, trace.line[:, :, TENSION], "{}_force"),
        Field("ligament_lengths", "m", lines, trace.line[:, :, LENGTH], "{}_length"),
        Field("contact_normal_forces", "N", contacts, out[:, :, NORMAL], "{}_normal_force"),
        Field("contact_friction_forces", "N", rubbing, friction, "{}_friction", AXES),
        Field("contact_sliding", "m/s", rubbing, sliding, "{}_sliding", AXES),
        Field("contact_depths", "m", contacts, out[:, :, DEPTH], "{}_depth"),
        Field("contact_places", "m", contacts, place, "{}_point", AXES),
        Field("friction_forces", "N", frictions, trace.friction[:, :, FORCE], "{}_friction"),
        Field("friction_sliding", "m/s", frictions, trace.friction[:, :, SPEED], "{}_sliding"),
    ]


def body_fields(simulator: Simulator, done: Run) -> list[Field]:
    """Where every body is in ground axes, for a stick figure."""
    m = simulator.model
    tree, bodies = m.tree, m.names.bodies
    at = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    position = np.zeros((len(done.times), len(bodies), 3))
    rotation = np.zeros((len(done.times), len(bodies), 3, 3))
    for k, q in enumerate(done.trace.q):
        pose(tree, q, at)
        position[k], rotation[k] = at.position, at.rotation
    return [
        Field("joint_centres", "m", bodies, position, "{}_centre", AXES),
        Field("segment_positions", "m", bodies, position, "{}_position", AXES),
        Field("segment_rotations", "1", bodies, rotation, "{}_rotation"),
    ]


def at_the_face(field: Field) -> tuple[Array, str]:
    """(n_row, n_column) values in degrees where they are angles, and the unit."""
    values = field.values.reshape(len(field.values), -1)
    unit = DEGREES.get(field.unit)
    return (np.degrees(values), unit) if unit else (values, field.unit)


def largest(field: Field, times: Array) -> dict[str, tuple[float, float]]:
    """Label -> (largest value or length of a vector, when)."""
    if not len(times):
        return {}
    values = np.linalg.norm(field.values, axis=2) if field.values.ndim == 3 else np.abs(field.values)
    rows = values.argmax(axis=0)
    return {
        label: (float(values[row, k]), float(times[row]))
        for k, (label, row) in enumerate(zip(field.labels, rows, strict=True))
    }


def outside(simulator: Simulator, done: Run) -> list[str]:
    """Sentences about coordinates that have left their range, which nothing enforces."""
    coordinates, said = simulator.model.coordinates, []
    for name, column, (low, high) in zip(coordinates.names, coordinates.q, coordinates.range, strict=True):
        values = done.trace.q[:, column]
        beyond = np.flatnonzero((values < low) | (values > high))
        if len(beyond):
            said.append(
                f"{name} leaves its range at {done.times[beyond[0]]:.6g} s: only forces could hold it"
            )
    return said
