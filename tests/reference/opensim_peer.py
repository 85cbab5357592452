"""Models beside OpenSim itself, in random poses: what is compared, and the largest differences.

`python -m tests.reference.opensim_peer MODEL.osim ...` prints them as rows of the table in docs/opensim.md.
OpenSim's free joint has speeds (angular, linear) in the parent's frame; here they are linear in the parent's
and angular in the child's: B maps the former to the latter, and B'MB and B'tau are what is compared.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.opensim_peer.opensim_dynamics import speed_indices
from kernels.dynamics.constrained import constrained_dynamics
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.system import DynamicsWork, new_dynamics_work
from kernels.joints.kinds import FREE
from rtsim.errors import ConfigError
from rtsim.files.osim.model import read_osim
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.model import build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]
LARGEST_ANGLE = 1.5


class Read:
    """A model from a file, by the names of its parts."""

    def __init__(self, path: Path) -> None:
        self.spec = read_osim(path)[0]
        self.model, roles = build(self.spec), roles_of(self.spec)
        self.q = self.model.q_neutral.copy()
        self.arms = MomentArms(self.model, roles)
        self.arms_without_moving = MomentArms(self.model, roles, moving_point_work=False)
        self.work: DynamicsWork = new_dynamics_work(self.model.tree, len(self.arms._work.constraint.value))

    def dof(self, name: str) -> int:
        return int(self.model.coordinates.dof[self.model.coordinates.names.index(name)])

    def angle(self, name: str) -> int:
        return self.model.names.angles.index(name)

    def muscle(self, name: str) -> int:
        return self.model.names.muscles.index(name)

    def move(self, pose: dict[str, float]) -> None:
        """Set coordinates; the others keep their values."""
        for name, value in pose.items():
            self.q[self.model.coordinates.q[self.model.coordinates.names.index(name)]] = value

    def mass_matrix(self) -> Array:
        M = np.zeros((self.model.n_v, self.model.n_v))
        mass_matrix(self.model.system, self.q, self.work, M)
        return np.tril(M) + np.tril(M, -1).T

    def inverse_dynamics(self, v: Array, v_dot: Array) -> Array:
        tau = np.zeros(self.model.n_v)
        none = np.zeros((len(self.model.names.bodies), 6))
        inverse_dynamics(self.model.system, self.q, v, v_dot, none, self.work, tau)
        return tau

    def accelerations(self, v: Array) -> Array:
        """Under gravity alone, with all constraints."""
        v_dot, tau = np.zeros(self.model.n_v), np.zeros(self.model.n_v)
        none = np.zeros((len(self.model.names.bodies), 6))
        work = self.arms._work.constraint
        constrained_dynamics(
            self.model.system, self.arms.constraints, self.q, v, tau, none, self.work, work, v_dot,
            np.zeros(len(work.value)),
        )  # fmt: skip
        return v_dot

    def body(self, name: str) -> tuple[Array, Array]:
        """Position and rotation, after mass_matrix or inverse_dynamics."""
        b = self.model.names.bodies.index(name)
        return self.work.pose.position[b], self.work.pose.rotation[b]


class Differences(NamedTuple):
    """Largest differences from OpenSim over all poses; NaN where there is nothing to compare."""

    position: float  # of bodies [m]
    rotation: float  # entries of their matrices
    marker: float  # in ground [m]
    length: float  # of muscles [m]
    arm: float  # [m]
    mass: float  # entries of the mass matrix, of the largest one
    tau: float  # of inverse dynamics, of the largest one
    acceleration: float  # under gravity with constraints, of the largest one
    worst: str = ""  # muscle of the largest difference in length


def quiet(opensim: Any) -> Any:
    """OpenSim without its sentences and without its log in the working folder."""
    opensim.Logger.setLevelString("Error")
    opensim.Logger.removeFileSink()
    return opensim


def compare(path: Path, n_pose: int, seed: int = 11) -> Differences:
    """A model in OpenSim and here."""
    opensim = quiet(importlib.import_module("opensim"))
    read, theirs = Read(path), Theirs(opensim, path)
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_pose):
        B = theirs.move(read, rng)
        found.append(differences(read, theirs, B, rng))
    worst = max(found, key=lambda row: row.length if row.length == row.length else -1.0).worst
    table = np.array([row[:-1] for row in found])
    with np.errstate(invalid="ignore"):
        highest = np.where(np.isnan(table), -np.inf, table).max(axis=0)
    return Differences(*np.where(np.isinf(highest), np.nan, highest).tolist(), worst)


class Theirs:
    """A model in OpenSim, without the forces of its own."""

    def __init__(self, opensim: Any, path: Path) -> None:
        self.opensim, self.model = opensim, opensim.Model(str(path))
        self.state = self.model.initSystem()
        self.coordinates = members(self.model.getCoordinateSet())
        self.names = [coordinate.getName() for coordinate in self.coordinates]
        self.bodies, self.muscles = members(self.model.getBodySet()), members(self.model.getMuscles())
        self.markers = members(self.model.getMarkerSet())
        for force in members(self.model.getForceSet()):
            force.setAppliesForce(self.state, False)
        self.speeds = speed_indices(self.coordinates, self.state)

    def move(self, read: Read, rng: np.random.Generator) -> Array:
        """Both to one random pose that the constraints allow; (n_v, n_u) - their speeds as ours."""
        known = read.model.coordinates.names
        for coordinate in self.coordinates:
            if not coordinate.getLocked(self.state):
                low = max(coordinate.getRangeMin(), -LARGEST_ANGLE)
                high = max(min(coordinate.getRangeMax(), LARGEST_ANGLE), low)
                coordinate.setValue(self.state, float(rng.uniform(low, high)), False)
        self.model.assemble(self.state)
        self.model.realizePosition(self.state)
        read.move(
            {
                name: coordinate.getValue(self.state)
                for name, coordinate in zip(self.names, self.coordinates, strict=True)
                if name in known
            }
        )
        B = np.zeros((read.model.n_v, len(self.names)))
        for k, name in enumerate(self.names):
            if name in known:
                B[read.dof(name), k] = 1.0
        tree = read.model.tree
        for b in np.flatnonzero(tree.kind == FREE):
            self.move_free(read, int(b), B)
        return B

    def move_free(self, read: Read, b: int, B: Array) -> None:
        """Coordinates of a free joint, and what its speeds are in ours."""
        tree = read.model.tree
        joint = next(
            joint for joint in members(self.model.getJointSet())
            if joint.getChildFrame().findBaseFrame().getName() == read.model.names.bodies[b]
        )  # fmt: skip
        of = [self.names.index(joint.get_coordinates(k).getName()) for k in range(6)]
        R, p = transform(joint.getChildFrame().findTransformBetween(self.state, joint.getParentFrame()))
        R_frame, p_frame = transform(
            joint.getParentFrame().findTransformBetween(self.state, joint.getParentFrame().findBaseFrame())
        )
        into = tree.rotation_in_parent[b].T  # which is where it is by default, not OpenSim's
        k, v = tree.q_start[b], tree.v_start[b]
        read.q[k : k + 3] = into @ (R_frame @ p + p_frame - tree.position_in_parent[b])
        x, y, z, w = Rotation.from_matrix(into @ R_frame @ R).as_quat()
        read.q[k + 3 : k + 7] = w, x, y, z
        B[v : v + 3, of[3:]] = into @ R_frame
        B[v + 3 : v + 6, of[:3]] = R.T

    def mass_matrix(self) -> Array:
        matrix = self.opensim.Matrix()
        self.model.getMatterSubsystem().calcM(self.state, matrix)
        return np.array([[matrix.get(i, j) for j in self.speeds] for i in self.speeds])

    def set_speeds(self, u: Array) -> None:
        for coordinate, speed in zip(self.coordinates, u, strict=True):
            coordinate.setSpeedValue(self.state, float(speed))
        self.model.realizeVelocity(self.state)

    def inverse_dynamics(self, u_dot: Array) -> Array:
        acceleration = self.opensim.Vector(len(u_dot), 0.0)
        for i, rate in zip(self.speeds, u_dot, strict=True):
            acceleration[i] = float(rate)
        solved = self.opensim.InverseDynamicsSolver(self.model).solve(self.state, acceleration)
        return np.array([solved.get(i) for i in self.speeds])

    def accelerations(self) -> Array:
        """At rest, under gravity, with constraints."""
        self.set_speeds(np.zeros(len(self.names)))
        self.model.realizeAcceleration(self.state)
        u_dot = self.state.getUDot()
        return np.array([u_dot.get(i) for i in self.speeds])


def differences(read: Read, theirs: Theirs, B: Array, rng: np.random.Generator) -> Differences:
    """In the pose in which both are."""
    state, model = theirs.state, read.model
    M = B.T @ read.mass_matrix() @ B
    placed = {body.getName(): transform(body.getTransformInGround(state)) for body in theirs.bodies}
    ours = {name: read.body(name) for name in placed}
    rows = [read.muscle(muscle.getName()) for muscle in theirs.muscles]
    lengths = [muscle.getLength(state) for muscle in theirs.muscles]
    by_muscle = np.abs(read.arms.lengths(read.q)[rows] - lengths)
    by_muscle[np.isnan(by_muscle)] = 0.0  # a path that fails here, and says so
    named = [(k, name) for k, name in enumerate(theirs.names) if name in model.coordinates.names]
    follows = set(model.couplers.dof.tolist())
    free = [(k, name) for k, name in named if read.dof(name) not in follows]
    arms = read.arms.at(read.q)[np.ix_(rows, [read.angle(name) for _, name in free])]
    expected_arms = np.array(
        [[m.computeMomentArm(state, theirs.coordinates[k]) for k, _ in free] for m in theirs.muscles]
    ).reshape(len(rows), len(free))
    spots = []
    for marker in read.spec.markers:
        p, R = read.body(marker.segment)
        there = theirs.model.getMarkerSet().get(marker.name).getLocationInGround(state)
        spots.append(np.abs(R @ (1e-3 * np.array(marker.offset_mm)) + p - vector(there)))
    expected = theirs.mass_matrix()
    u, u_dot = rng.normal(size=(2, len(theirs.names)))
    theirs.set_speeds(u)
    tau = theirs.inverse_dynamics(u_dot)
    tau_here = B.T @ read.inverse_dynamics(B @ u, B @ u_dot)
    falling = theirs.accelerations()
    falls = np.linalg.lstsq(B, read.accelerations(np.zeros(model.n_v)), rcond=None)[0]
    worst = theirs.muscles[int(by_muscle.argmax())].getName() if rows else ""
    return Differences(
        max(np.abs(ours[name][0] - placed[name][1]).max() for name in placed),
        max(np.abs(ours[name][1] - placed[name][0]).max() for name in placed),
        largest(spots),
        largest(by_muscle),
        largest(arms - expected_arms),
        largest(M - expected) / np.abs(expected).max(),
        largest(tau_here - tau) / np.abs(tau).max(),
        largest(falls - falling) / max(np.abs(falling).max(), 1e-12),
        worst,
    )


def largest(x: Any) -> float:
    x = np.abs(np.asarray(x, float))
    return float(np.nanmax(x)) if np.isfinite(x).any() else float("nan")


def members(found: Any) -> list:
    return [found.get(i) for i in range(found.getSize())]


def vector(v: Any) -> Array:
    return np.array([v.get(i) for i in range(3)])


def transform(X: Any) -> tuple[Array, Array]:
    """Rotation and position."""
    return np.array([[X.R().get(i, j) for j in range(3)] for i in range(3)]), vector(X.p())


def row(path: Path, n_pose: int) -> str:
    """A row of the table; the name and the reason where the model is refused."""
    try:
        found = compare(path, n_pose)
    except ConfigError as error:
        return f"| {path.stem} | refused: {error} |"
    numbers = " | ".join("" if x != x else f"{x:.1g}" for x in found[:-1])
    return f"| {path.stem} | {numbers} | {found.worst if found.length > 1e-6 else ''} |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(row(Path(name), 20), flush=True)
