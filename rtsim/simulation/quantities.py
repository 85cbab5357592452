"""Quantities of one state of a simulation, motion, forces and positions, for streams, files and figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import DEPTH, FRICTION, NORMAL, PLACE, SLIDING
from kernels.forces.frictions import FORCE, SLIDING_SPEED
from kernels.forces.generators import GIVEN_ACTIVATION, GIVEN_TORQUE
from kernels.forces.ligament import LINEAR
from kernels.forces.lines import LENGTH, TENSION
from kernels.forces.path_forces import ACTIVATION, FIBRE, PATH_LENGTH, PATH_SPEED, PULL
from kernels.joints.tree import Pose
from kernels.rosenbrock.trace import Trace
from rtsim.models.neutral import neutral_lengths
from rtsim.models.packing.joints import rotations, translations
from rtsim.quantity import ACTIVATIONS, AXES, GROUND, QUATERNION, Quantity, is_rotation
from rtsim.simulation.simulator import Simulator, Still
from rtsim.units import DEGREES
from streams.messages import Curves

Array = NDArray[np.float64]
Index = NDArray[np.int64]
VERTICAL = np.array([0.0, 1.0, 0.0])
UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])


class SimulatedQuantities:
    """The quantities of a simulator's state that are published, such as coordinates and forces, computed from
    a row of a trace (results in the form of the kernels) and the pose of all bodies in that row.

    Attributes
    ----------
    quantities : in the order in which they are published; `report` brings their arrays up to date
    """

    def __init__(self, simulator: Simulator | Still, trace: Trace, pose: Pose) -> None:
        self.simulator, self._trace, self._pose = simulator, trace, pose
        self._chosen: list[tuple[Array, Array, tuple | slice]] = []  # out, rows of the trace, what of a row
        self._upright = upright(simulator.model.system.gravity)
        self._turned: list[tuple[Array, Array]] = []
        self.quantities: list[Quantity] = []
        self._add_coordinates()
        self._add_joints()
        self._add_lines()
        self._add_contacts()
        self._add_frictions()
        self._add_muscles()
        self._add_generators()
        self._add_prescribed()
        self._add_holds()
        self._add_bodies()
        self._take("step_error", trace.error[:, None], slice(None), "1", ("step",),
                   meaning="estimated error of the integration steps since the last frame")  # fmt: skip

    def report(self, row: int = 0) -> None:
        """Update the quantities to a row of the trace; the pose of the bodies must be that of the row."""
        for out, source, index in self._chosen:
            out[...] = source[row][index]
        self._depths[:] = self._trace.contact[row, :, DEPTH]
        apart = ~(self._depths > 0.0)
        self._places[apart] = np.nan  # no contact, no place
        self._sliding[apart[self._rubs]] = np.nan
        self._fill_ends()
        for out, own in self._turned:
            turn(self._upright, own, out)

    def _add(self, name: str, array: Array, unit: str, labels: tuple[str, ...], parts: tuple[str, ...] = (),
             frame: str = "", curves: Curves | None = None, meaning: str = "",
             as_is: tuple[str, ...] = ()) -> Array:  # fmt: skip
        """Declare a quantity for publication; return the array to fill, which is a separate one if ground is
        rotated for publication.

        labels, parts : names of the entries along the first and along the second axis; frame : axes in which
            its vectors are given; meaning : a one-line description
        curves : how it is drawn over time, None = not at all; as_is : labels of entries that files keep in
            the SI unit
        """
        shown = array
        if frame == GROUND and (self._upright != np.eye(3)).any():
            shown = np.zeros(array.shape)
            self._turned.append((shown, array))
        self.quantities.append(
            Quantity(
                name=name,
                array=shown,
                unit=unit,
                labels=labels,
                parts=parts,
                frame=frame,
                curves=curves,
                meaning=meaning,
                as_is=as_is,
            )
        )
        return array

    def _take(self, name: str, source: Array, index: tuple | slice, unit: str, labels: tuple[str, ...],
              parts: tuple[str, ...] = (), frame: str = "", curves: Curves | None = None,
              meaning: str = "", as_is: tuple[str, ...] = ()) -> Array:  # fmt: skip
        """Declare a quantity that is published as a part of each row of `source` : (n_row, ...); index :
        which part of a row; the other arguments are those of `_add`
        """
        out = np.zeros(source[0][index].shape)
        self._chosen.append((out, source, index))
        return self._add(name, out, unit, labels, parts, frame, curves, meaning, as_is)

    def _add_coordinates(self) -> None:
        """Add the quantities of coordinates and their speeds, with angles and lengths as separate
        quantities.
        """
        m, trace = self.simulator.model, self._trace
        kinds = (
            ("joint_angle", "rad", m.coordinates.is_angle, 10.0 / DEGREES,
             "", "coordinates that are angles"),
            ("joint_displacement", "m", ~m.coordinates.is_angle, 0.004,
             "Displacements", "coordinates that are lengths"),
        )  # fmt: skip
        for kind, unit, chosen, least, panel, meaning in kinds:
            labels = tuple(name for name, one in zip(m.coordinates.names, chosen, strict=True) if one)
            axis = kind.removeprefix("joint_")
            neutral = () if unit == "rad" else neutral_lengths(m)
            self._take(f"{kind}s", trace.q, (m.coordinates.q[chosen],), unit, labels,
                       curves=Curves(panel, axis, 0, least, zero=neutral), meaning=meaning,
                       as_is=m.coordinates.coupled if unit == "rad" else ())  # fmt: skip
            drawn = Curves("Velocities", "velocity", 0, 0.01) if unit == "m" else None
            self._take(f"{kind}_speeds", trace.v, (m.coordinates.dof[chosen],), f"{unit}/s", labels,
                       curves=drawn, meaning=f"rates of the {meaning}")  # fmt: skip

    def _add_joints(self) -> None:
        """Add the motion of joints that move or rotate without named coordinates, named after the bodies they
        carry."""
        tree, names, trace = (
            self.simulator.model.tree,
            self.simulator.model.names.bodies,
            self._trace,
        )
        moving, turning = translations(tree), rotations(tree)
        movers, turners = (tuple(names[b] for b, _, _ in found) for found in (moving, turning))
        x_q, x_v, R_q, w_v = ([row[k] for row in found] for found in (moving, turning) for k in (1, 2))
        joint = "frame of the joint on the parent body"
        self._take("joint_positions", trace.q, (rows(x_q, 3),), "m", movers, AXES, joint,
                   meaning="translation of free joints")  # fmt: skip
        self._take("joint_quaternions", trace.q, (rows(R_q, 4),), "1", turners,
                   QUATERNION, joint, meaning="rotation of joints without angles, as balls")  # fmt: skip
        self._take("joint_velocities", trace.v, (rows(x_v, 3),), "m/s", movers, AXES, joint,
                   meaning="rates of joint_positions")  # fmt: skip
        self._take("joint_turning", trace.v, (rows(w_v, 3),), "rad/s", turners,
                   AXES, "frame of the joint on the child body",
                   meaning="angular velocity of the joints of joint_quaternions")  # fmt: skip

    def _add_lines(self) -> None:
        """Add the quantities of ligaments, and of springs between points."""
        m, trace = self.simulator.model, self._trace
        springs = m.forces.lines.law == LINEAR
        self._ends = np.zeros((len(springs), 2, 3))
        self._line_ends: list[tuple[Array, Index]] = []
        curves = {
            "ligament": Curves("Ligaments", "tension", 1, 20.0),
            "spring": Curves("Springs", "force", 1, 20.0),
        }
        for kind, chosen in (("ligament", ~springs), ("spring", springs)):
            at = np.flatnonzero(chosen)
            labels = tuple(m.names.lines[e] for e in at)
            self._take(f"{kind}_forces", trace.line, (at, TENSION), "N", labels, curves=curves[kind],
                       meaning="tension of each element; negative for a compressed spring")  # fmt: skip
            self._take(f"{kind}_lengths", trace.line, (at, LENGTH), "m", labels,
                       meaning="distance between the two ends")  # fmt: skip
            ends = self._add(f"{kind}_ends", np.zeros((len(at), 2, 3)), "m", labels, (), GROUND,
                             meaning="positions of both ends, for drawing")  # fmt: skip
            self._line_ends.append((ends, at))

    def _add_contacts(self) -> None:
        """Add the quantities of contacts; only contacts with a friction law have friction quantities."""
        m, contact = self.simulator.model, self._trace.contact
        names, self._rubs = m.names.contacts, np.flatnonzero(m.forces.contacts.friction_law >= 0)
        rubbing = tuple(names[k] for k in self._rubs)
        every, rubs = np.arange(len(names)), self._rubs[:, None]
        self._take("contact_normal_forces", contact, (every, NORMAL), "N", names,
                   curves=Curves("Contacts", "normal force", 1, 20.0, True),
                   meaning="normal force, 0 = no contact")  # fmt: skip
        self._take("contact_friction_forces", contact, (rubs, np.arange(FRICTION, FRICTION + 3)), "N",
                   rubbing, AXES, GROUND, meaning="friction force on the body of the ellipsoid")  # fmt: skip
        slides = (rubs, np.arange(SLIDING, SLIDING + 3))
        self._sliding = self._take("contact_sliding", contact, slides, "m/s", rubbing, AXES, GROUND,
                                   meaning="sliding velocity; NaN = no contact")  # fmt: skip
        self._depths = self._take("contact_depths", contact, (every, DEPTH), "m", names,
                                  meaning="largest depth of the overlap")  # fmt: skip
        places = (every[:, None], np.arange(PLACE, PLACE + 3))
        self._places = self._take("contact_places", contact, places, "m", names, AXES, GROUND,
                                  meaning="point of the contact force; NaN = no contact")  # fmt: skip

    def _add_frictions(self) -> None:
        """Add the quantities of friction elements: points that slide under a constant load."""
        names, friction = self.simulator.model.names.frictions, self._trace.friction
        every = np.arange(len(names))
        self._take("friction_forces", friction, (every, FORCE), "N", names,
                   curves=Curves("Friction", "force", 1, 2.0),
                   meaning="friction force along the direction of the friction element")  # fmt: skip
        self._take("friction_sliding", friction, (every, SLIDING_SPEED), "m/s", names,
                   meaning="sliding speed along the direction of the friction element")  # fmt: skip

    def _add_muscles(self) -> None:
        """Add the quantities of muscles that have a force, and of ligaments along paths."""
        m, trace = self.simulator.model, self._trace
        if m.pulls is None:
            return
        names = m.names.pulling
        every = np.arange(len(names))
        self._take("muscle_activations", trace.pull, (every, ACTIVATION), "1", names,
                   curves=ACTIVATIONS, meaning="activation of the muscle fibres")  # fmt: skip
        self._take("muscle_forces", trace.pull, (every, PULL), "N", names,
                   curves=Curves("Muscles", "force", 1, 10.0), meaning="force along the tendon")  # fmt: skip
        self._take("muscle_lengths", trace.pull, (every, PATH_LENGTH), "m", names,
                   meaning="length of the whole muscle path")  # fmt: skip
        self._take("muscle_speeds", trace.pull, (every, PATH_SPEED), "m/s", names,
                   meaning="lengthening speed of the whole muscle path")  # fmt: skip
        elastic = np.flatnonzero(m.pulls.muscles.elastic)  # what stands in for ligaments is rigid
        self._take("muscle_fibre_lengths", trace.pull, (elastic, FIBRE), "m",
                   tuple(names[k] for k in elastic),
                   meaning="fibre lengths of muscles with elastic tendons, along the tendon")  # fmt: skip
        wrapping = len(names) + np.arange(len(m.names.wrapping))
        self._take("wrapping_ligament_forces", trace.pull, (wrapping, PULL), "N", m.names.wrapping,
                   curves=Curves("Ligaments", "tension", 1, 20.0),
                   meaning="tension of ligaments that go over surfaces")  # fmt: skip
        self._take("wrapping_ligament_lengths", trace.pull, (wrapping, PATH_LENGTH), "m", m.names.wrapping,
                   meaning="lengths of the whole paths of these ligaments")  # fmt: skip

    def _add_generators(self) -> None:
        """Add the quantities of torque generators; nothing is added for a model without any."""
        names, trace = self.simulator.model.names.generators, self._trace
        if not names:
            return
        every = np.arange(len(names))
        self._take("generator_activations", trace.generator, (every, GIVEN_ACTIVATION), "1", names,
                   curves=ACTIVATIONS,
                   meaning="activations, prescribed over time or by the excitations")  # fmt: skip
        self._take("generator_torques", trace.generator, (every, GIVEN_TORQUE), "N m", names,
                   curves=Curves("Generators", "torque", 1, 5.0),
                   meaning="along their coordinates")  # fmt: skip

    def _add_prescribed(self) -> None:
        """Add the generalized forces that keep prescribed coordinates on their motion, separately for angles
        and lengths.
        """
        m, couplers = self.simulator.model.coordinates, self.simulator.simulation.couplers
        if couplers is None:
            own, at = np.zeros(0, np.int64), np.zeros(0, np.int64)
        else:
            own = np.flatnonzero(couplers.coordinate == couplers.driver)
            at = np.array([int(np.flatnonzero(m.q == couplers.coordinate[k])[0]) for k in own], np.int64)
        for name, unit, what, chosen in (
            ("prescribed_moments", "N m", "moment", m.is_angle[at]),
            ("prescribed_forces", "N", "force", ~m.is_angle[at]),
        ):
            labels = tuple(m.names[k] for k in at[chosen])
            self._take(name, self._trace.coupler, (own[chosen],), unit, labels,
                       curves=Curves("Prescribed", what, 1, 1.0),
                       meaning=f"{what} that keeps the prescribed coordinates on their motion")  # fmt: skip

    def _add_holds(self) -> None:
        """Add the forces of exact constraints."""
        m = self.simulator.model
        if m.holds is None:
            return
        self._take("element_forces", self._trace.hold, (np.arange(len(m.names.holds)),), "N", m.names.holds,
                   curves=Curves("Constraints", "force", 1, 20.0),
                   meaning="constraint force that pushes both ends apart, or pushes a point out of its "
                       "plane")  # fmt: skip

    def _add_bodies(self) -> None:
        """Add the bodies' poses, which a stick figure needs."""
        bodies, pose = self.simulator.model.names.bodies, self._pose
        for name, array, meaning in (
            ("joint_centres", pose.position, "origins of the bodies, for drawing a stick figure"),
            ("segment_positions", pose.position, "body origins"),
            ("segment_rotations", pose.rotation, "rotation matrices from body axes to ground axes"),
        ):
            self._add(name, array, "1" if is_rotation(array) and "rot" in name else "m", bodies, (), GROUND,
                      meaning=meaning)  # fmt: skip

    def _fill_ends(self) -> None:
        """Write the ends of all ligaments and springs between points, in ground; body -1 is ground."""
        forces, pose = self.simulator.model.forces, self._pose
        lines, pairs = forces.lines, forces.pairs
        for k, body, point in ((0, pairs.body_a, lines.point_a), (1, pairs.body_b, lines.point_b)):
            b = body[lines.pair]
            moved = np.einsum("eij,ej->ei", pose.rotation[b], point) + pose.position[b]
            self._ends[:, k] = np.where((b < 0)[:, None], point, moved)
        for out, at in self._line_ends:
            out[:] = self._ends[at]


def rows(starts: Array | list[int], n: int) -> Index:
    """Return the indices of n successive entries from each start on, (len(starts), n)."""
    return np.array(starts, np.int64).reshape(-1, 1) + np.arange(n)


def turn(R: Array, x: Array, out: Array) -> None:
    """Rotate the vectors or rotation matrices x by the rotation matrix R : (3, 3), and write them into out.

    x : (n, 3, 3) - rotation matrices, each of which becomes R x; an array of another shape (..., 3) contains
        vectors
    """
    if is_rotation(x):
        np.matmul(R, x, out=out)
    else:
        np.matmul(x, R.T, out=out)


def upright(gravity: Array) -> Array:
    """Return the shortest rotation (3, 3) that makes gravity : (3,) point down along Y; the identity without
    gravity.

    R = 1 + K + K^2 / (1 + c) by Rodrigues, with the unit vector u opposite to gravity, c = u . y, and K the
    matrix of the cross product with u x y.
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(3)
    up = -gravity / size
    cosine = float(up @ VERTICAL)
    if cosine < -1.0 + 1e-12:
        return UPSIDE_DOWN
    x, y, z = np.cross(up, VERTICAL)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + K + K @ K / (1.0 + cosine)
