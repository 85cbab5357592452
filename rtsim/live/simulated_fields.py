"""The fields of a simulated frame: names, units and labels once, arrays on every frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import DEPTH, FRICTION, NORMAL, PLACE
from kernels.forces.frictions import FORCE
from kernels.forces.lines import LENGTH, TENSION
from kernels.rosenbrock.trace import Trace
from rtsim.simulation.simulator import Simulator
from streams.messages import FieldSpec, Session, new_session_id

Array = NDArray[np.float64]
VERTICAL = np.array([0.0, 1.0, 0.0])
UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])


class SimulatedFields:
    """Collects what a simulated frame publishes, from the row of a trace and the pose of its state.

    Attributes
    ----------
    session : descriptor of the result stream
    arrays : field -> its values in the last frame that was filled; some are parts of the simulator's arrays
    """

    def __init__(self, simulator: Simulator, trace: Trace, meta: dict, rate: float, t_start: int) -> None:
        self._simulator = simulator
        self._upright = upright(simulator.model.system.gravity)
        self._turned = bool((self._upright != np.eye(3)).any())
        self._labels: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.arrays: dict[str, Array] = {}
        self._add_motion()
        self._add_forces(trace)
        self._add_places(trace)
        self.arrays = {name: array for name, array in self.arrays.items() if array.size}
        self.session = Session(
            session=new_session_id(),
            stream="result",
            t_start=t_start,
            rate=rate,
            fields=tuple(
                FieldSpec(name, array.shape, *self._labels[name]) for name, array in self.arrays.items()
            ),
            meta={**described(simulator), **meta},
        )

    def fill(self) -> dict[str, bytes]:
        """Bytes of every field of the state that the trace and the pose tell."""
        s = self._simulator
        for out, source, index in self._chosen:
            np.take(source, index, out=out)
        self._fill_ends()
        for out, vectors in self._vectors:
            np.matmul(vectors, self._upright.T, out=out)
        self._places[~(self._normal > 0.0)] = np.nan  # no contact, no place
        if self._turned:
            np.matmul(self._upright, s.work.dynamics.pose.rotation, out=self._rotations)
        return {name: array.tobytes() for name, array in self.arrays.items()}

    def _add(self, name: str, unit: str, labels: tuple[str, ...], array: Array) -> None:
        self.arrays[name], self._labels[name] = array, (unit, labels)

    def _add_motion(self) -> None:
        """Coordinates and their speeds: angles apart from lengths."""
        s, m = self._simulator, self._simulator.model
        self._chosen: list[tuple[Array, Array, NDArray[np.int64]]] = []
        for kind, unit, chosen in (
            ("joint_angle", "rad", m.coordinates.is_angle),
            ("joint_displacement", "m", ~m.coordinates.is_angle),
        ):
            labels = tuple(name for name, one in zip(m.coordinates.names, chosen, strict=True) if one)
            for name, per, source, index in (
                (f"{kind}s", "", s.q, m.coordinates.q[chosen]),
                (f"{kind}_speeds", "/s", s.v, m.coordinates.dof[chosen]),
            ):
                out = np.zeros(len(labels))
                self._chosen.append((out, source, index))
                self._add(name, unit + per, labels, out)

    def _add_forces(self, trace: Trace) -> None:
        m = self._simulator.model
        line, contact, friction = trace.line[0], trace.contact[0], trace.friction[0]
        self._normal = contact[:, NORMAL]
        self._add("ligament_forces", "N", m.names.lines, line[:, TENSION])
        self._add("ligament_lengths", "m", m.names.lines, line[:, LENGTH])
        self._add("contact_normal_forces", "N", m.names.contacts, self._normal)
        self._add("contact_depths", "m", m.names.contacts, contact[:, DEPTH])
        self._add("friction_forces", "N", m.names.frictions, friction[:, FORCE])

    def _add_places(self, trace: Trace) -> None:
        """What has a place in ground, turned so that Y points up."""
        m, pose = self._simulator.model, self._simulator.work.dynamics.pose
        contact, n_body, n_line = trace.contact[0], len(m.names.bodies), len(m.names.lines)
        frictions, self._places = np.zeros((2, len(contact), 3))
        self._ends = np.zeros((n_line, 2, 3))  # in ground axes
        ends, positions = np.zeros((n_line, 2, 3)), np.zeros((n_body, 3))
        self._rotations = np.zeros((n_body, 3, 3)) if self._turned else pose.rotation
        self._vectors = [
            (frictions, contact[:, FRICTION : FRICTION + 3]),
            (self._places, contact[:, PLACE : PLACE + 3]),
            (ends, self._ends),
            (positions, pose.position),
        ]
        self._add("contact_friction_forces", "N", m.names.contacts, frictions)
        self._add("contact_places", "m", m.names.contacts, self._places)
        self._add("ligament_ends", "m", m.names.lines, ends)
        self._add("joint_centres", "m", m.names.bodies, positions)
        self._add("segment_positions", "m", m.names.bodies, positions)
        self._add("segment_rotations", "1", m.names.bodies, self._rotations)

    def _fill_ends(self) -> None:
        """Ends of all lines in ground; body -1 is ground."""
        forces, pose = self._simulator.model.forces, self._simulator.work.dynamics.pose
        lines, pairs = forces.lines, forces.pairs
        for k, body, point in ((0, pairs.body_a, lines.point_a), (1, pairs.body_b, lines.point_b)):
            b = body[lines.pair]
            turned = np.einsum("eij,ej->ei", pose.rotation[b], point) + pose.position[b]
            self._ends[:, k] = np.where((b < 0)[:, None], point, turned)


def described(simulator: Simulator) -> dict:
    """What the descriptor says about a simulation."""
    m, settings = simulator.model, simulator.settings
    parents = m.tree.parent
    return {
        "model": m.name,
        "method": settings.method,
        "source": "simulation",
        "step_ms": 1e3 * simulator.options.step,
        "kinks": settings.kinks,
        "up": "Y",
        "stick": [[m.names.bodies[p], m.names.bodies[b]] for b, p in enumerate(parents) if p >= 0],
    }


def upright(gravity: Array) -> Array:
    """(3, 3) - the shortest rotation that makes gravity : (3,) point down along Y; none without gravity.

    R = 1 + K + K^2 / (1 + c), K = (u x y)~, c = u . y, with u against gravity (Rodrigues).
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
