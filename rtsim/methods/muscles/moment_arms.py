"""Muscle lengths and moment arms of a model, by the four methods that Sherman, Seth, Delp (2010) compare:
force, partial velocity, velocity, and differences of length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import kernels.path.angles
from kernels.compiler.jit import bind
from kernels.dynamics.rolling import no_rolls
from kernels.joints.tree import Pose, integrate
from kernels.path import muscle_path
from kernels.path.assembly import OK, assemble
from kernels.path.moment_arms import (
    FORCE,
    PARTIAL_VELOCITY,
    VELOCITY,
    Leverage,
    moment_arms,
    new_leverage_work,
)
from kernels.path.stations import WRAP
from kernels.path.surfaces import clearance
from kernels.solver.constraints import HARD, Roles
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ModelError
from rtsim.models.model import Model, build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

METHODS = {"force": FORCE, "partial-velocity": PARTIAL_VELOCITY, "velocity": VELOCITY}
DIFFERENCES = "differences"
"""The fourth method: the change of length over the change of angle (eq. 10)."""
STEP = 1e-5
"""Half step of an angle in central differences [rad]: truncation and round-off are about 1e-9 m."""
TOLERANCE = 1e-12
MAX_ITERATIONS = 50


class SweepPoint(NamedTuple):
    """Result at one of the values that an angle takes in a sweep: that value, the coordinates q, lengths of
    all muscles and their arms about the angle, and the muscles whose path fails there, with the reason.
    """

    value: float  # of the angle [rad]
    q: Array  # (n_q,)
    lengths: Array  # (n_muscle,) [m]
    arms: Array  # (n_muscle,) - about the angle [m]
    failed: dict[str, str]  # muscles whose path fails there, of which both are NaN, and why


class MomentArms:
    """Lengths and moment arms of all muscles about all angles of a model.

    Parameters
    ----------
    model, roles : the model, and the constraints that one of its kinematic methods uses
    moving_point_work : False omits the work of moving points, as OpenSim did in 2010, for comparison
    """

    def __init__(self, model: Model, roles: Roles, moving_point_work: bool = True) -> None:
        self.model = model
        constraints = model.constraints(roles)
        # one version of the kernels, whether something rolls or not
        self.constraints = constraints._replace(rolls=constraints.rolls or no_rolls())
        self.leverage = Leverage(model.tree, self.constraints, model.stations, model.surfaces, model.angles)
        self._moving = int(moving_point_work)
        self._work = new_leverage_work(self.leverage)
        self._arms = np.zeros((len(model.names.muscles), len(model.names.angles)))
        q = model.q_neutral.copy()
        self._run = bind(moment_arms, (self.leverage, q, FORCE, self._moving, self._work, self._arms))

    def assembled(self, q: Array | None = None, angle: str | None = None, value: float = 0.0) -> Array:
        """Find the coordinates (n_q,) nearest to q that satisfy the constraints and give an angle a value
        [rad]; without a name the angle is free.

        Raises ModelError if there are none.
        """
        q = np.array(self.model.q_neutral if q is None else q, float)
        row = -1 if angle is None else self.angle_index(angle)
        status, residual = assemble(
            self.leverage.tree, self.constraints, self.leverage.angles, row, float(value), MAX_ITERATIONS,
            TOLERANCE, self._work.pose, self._work.constraint, q,
        )  # fmt: skip
        if status != OK:
            goal = "" if angle is None else f" with {angle} at {self.told(angle, value)}"
            raise ModelError(
                f"no pose that satisfies the constraints was found{goal} (remaining error {residual:.2g})",
                where=f"model {self.model.name}",
                remedy="check couplers and elements of the model, or give another value",
            )
        return q

    def body_places(self, q: Array) -> dict[str, tuple[Array, Array]]:
        """Return rotation and position of every body in ground."""
        self._evaluate(q, PARTIAL_VELOCITY)
        at = self._work.pose
        return {
            name: (at.rotation[b].copy(), at.position[b].copy())
            for b, name in enumerate(self.model.names.bodies)
        }

    def constraint_rows(self, q: Array) -> Array:
        """Compute the Jacobian (n, n_v) of all constraints."""
        self._evaluate(q, PARTIAL_VELOCITY)
        n = int(np.sum(self.constraints.roles.mode == HARD)) + len(self.constraints.couplers.dof)
        n += 3 * len(self.model.names.rolls)
        return self._work.constraint.row[:n].copy()

    def at(self, q: Array, method: str = "force") -> Array:
        """Compute the moment arms (n_muscle, n_angle) [m] at coordinates that satisfy the constraints.

        The arm is r = -dl/dtheta, with the muscle's length l and the angle theta; it is positive if tension
        increases the angle. It is NaN about angles that do not exist at q, and for muscles whose path cannot
        be computed there (`failures`).

        method : "force", "partial-velocity", "velocity" or "differences" (Sherman et al. 2010)
        """
        if method == DIFFERENCES:
            return self._by_differences(q)
        self._evaluate(q, METHODS[method])
        arms = self._arms.copy()
        arms[self._work.path.status != muscle_path.OK] = np.nan
        arms[:, self._work.angle.status != kernels.path.angles.OK] = np.nan
        return arms

    def lengths(self, q: Array) -> Array:
        """Compute the lengths of all muscle paths, (n_muscle,) [m]; NaN for a path that cannot be
        computed.
        """
        self._evaluate(q, PARTIAL_VELOCITY)
        return np.where(self._work.path.status == muscle_path.OK, self._work.path.length, np.nan)

    def measure(self, q: Array, lengths_out: Array, arms_out: Array) -> int:
        """Compute lengths and moment arms at a frame's coordinates, by the method of partial velocities only;
        return how many muscle paths cannot be computed, whose rows are NaN.

        lengths_out, arms_out : (n_muscle,), (n_muscle, n_angle) [m]
        """
        self._evaluate(q, PARTIAL_VELOCITY)
        failed = self._work.path.status != muscle_path.OK
        lengths_out[:] = self._work.path.length
        arms_out[:] = self._arms
        lengths_out[failed] = np.nan
        arms_out[failed] = np.nan
        arms_out[:, self._work.angle.status != kernels.path.angles.OK] = np.nan
        return int(failed.sum())

    @property
    def gradient(self) -> Array:
        """Derivatives (n_muscle, n_v) of the muscle lengths with respect to the tangent coordinates, from the
        last evaluation.
        """
        return self._work.path.gradient

    def measure_moving(
        self, q: Array, v: Array, lengths_out: Array, speeds_out: Array, arms_out: Array
    ) -> int:
        """Compute lengths, moment arms and rates of the lengths of all muscles at a frame's coordinates q and
        speeds v; return how many muscle paths cannot be computed, whose rows are NaN.

        v : (n_v,) speeds [rad/s, m/s]
        lengths_out, speeds_out, arms_out : (n_muscle,) [m], (n_muscle,) [m/s], (n_muscle, n_angle) [m],
            written
        """
        failed = self.measure(q, lengths_out, arms_out)
        np.dot(self._work.path.gradient, v, out=speeds_out)
        speeds_out[self._work.path.status != muscle_path.OK] = np.nan
        return failed

    @property
    def couplings(self) -> Array:
        """Speeds of all dofs (n_angle, n_v), one row for each angle: those with which the angle changes at
        unit rate while dependent dofs follow.

        They belong to the coordinates of the last call of `measure`. The array is a view, which the next call
        changes.
        """
        return self._work.angle.coupling

    @property
    def pose(self) -> Pose:
        """Poses of the bodies at the last measured coordinates; a view."""
        return self._work.pose

    def speeds(self, q: Array, v: Array, speeds_out: Array) -> int:
        """Compute the rates of the lengths of all muscles in a motion; return how many muscle paths cannot be
        computed, whose rates are NaN.

        q, v : (n_q,), (n_v,) - coordinates and speeds [rad, m; rad/s, m/s]; speeds_out : (n_muscle,) [m/s]
        """
        self._evaluate(q, PARTIAL_VELOCITY)
        np.dot(self._work.path.gradient, v, out=speeds_out)
        failed = self._work.path.status != muscle_path.OK
        speeds_out[failed] = np.nan
        return int(failed.sum())

    def moved_by(self, dofs: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which muscles (n_muscle,) change their lengths by some of the dofs, at the last measured
        coordinates; dofs : (n_v,) mask"""
        return np.asarray((self._work.path.gradient[:, dofs] != 0.0).any(axis=1))

    def slopes(self, q: Array) -> Array:
        """Compute the derivatives (n_muscle, n_v) of all muscle lengths with respect to the tangent
        coordinates at q; NaN if a path cannot be computed.
        """
        self._evaluate(q, PARTIAL_VELOCITY)
        known = self._work.path.status == muscle_path.OK
        return np.where(known[:, None], self._work.path.gradient, np.nan)

    def failures(self, q: Array) -> dict[str, str]:
        """Return the muscles whose path cannot be computed at q, each with the reason."""
        self._evaluate(q, PARTIAL_VELOCITY)
        return {
            self.model.names.muscles[m]: self._reason(int(m)) for m in np.flatnonzero(self._work.path.status)
        }

    def coupling(self, q: Array, angle: str) -> Array:
        """Return the speeds of all dofs (n_v,) when the angle changes at unit rate: the vector C of Sherman
        et al. (2010), eq. 13.

        Raises ModelError if no coordinate changes the angle, or if the constraints fix it.
        """
        self._evaluate(q, PARTIAL_VELOCITY)
        row = self.angle_index(angle)
        status = int(self._work.angle.status[row])
        if status != kernels.path.angles.OK:
            raise ModelError(
                kernels.path.angles.STATUS_NAMES[status],
                where=f"model {self.model.name}: angle {angle}",
                remedy="choose another angle or other coordinates",
            )
        return self._work.angle.coupling[row].copy()

    def about(self, q: Array, theta: Callable[[Array], float]) -> Array:
        """Compute the moment arms (n_muscle,) [m] about any angle theta(q) [rad], a function of q : (n_q,);
        NaN if a muscle path cannot be computed.
        """
        g = self._gradient(q, theta)
        work = self._work
        self._evaluate(q, PARTIAL_VELOCITY)
        G = self.constraint_rows(q)
        n = len(G)
        square = g @ g
        P_g = g - G.T @ np.linalg.lstsq(G @ G.T, G @ g, rcond=1e-11)[0] if n else g
        if not g @ P_g > kernels.path.angles.STUCK * square:
            undetermined = not square > 0.0
            reason = kernels.path.angles.UNDETERMINED if undetermined else kernels.path.angles.LOCKED
            raise ModelError(
                kernels.path.angles.STATUS_NAMES[reason],
                where="the angle as a sum of coordinates",
                remedy="choose another angle",
            )
        arms = -work.path.gradient @ P_g / (g @ P_g)
        return np.where(work.path.status == muscle_path.OK, arms, np.nan)

    def sweep(
        self, angle: str, values: Iterable[float], q: Array | None = None, method: str = "force"
    ) -> Iterator[SweepPoint]:
        """Yield lengths and moment arms about one angle at each of its `values`, with the constraints
        satisfied.

        q : coordinates from which the first pose is sought; None = the initial ones
        method : "force", "partial-velocity", "velocity" or "differences" (Sherman et al. 2010)
        """
        row = self.angle_index(angle)
        q = self.assembled(q)
        for value in values:
            q = self.assembled(q, angle, value)
            failed = self.failures(q)
            yield SweepPoint(float(value), q, self.lengths(q), self.at(q, method)[:, row], failed)

    def value_of(self, q: Array, angle: str) -> float:
        """Return the value of an angle, or of a displacement, at the coordinates q [rad, m]."""
        self._evaluate(q, PARTIAL_VELOCITY)
        return float(self._work.angle.value[self.angle_index(angle)])

    def error(self, muscle: str, reason: str) -> ModelError:
        """Return the error for a muscle whose path cannot be computed."""
        return ModelError(
            reason,
            where=f"model {self.model.name}: muscle {muscle}",
            remedy="move the path point or the surface, or choose other coordinates",
        )

    def angle_index(self, angle: str) -> int:
        """Return the index of an angle among those of the model; ModelError lists the allowed names."""
        return index_of(self.model.names.angles, angle, "angle", self.model.name)

    def range_of(self, angle: str) -> tuple[float, float]:
        """Return the range of an angle or of a coordinate that is a displacement [rad, m]; infinite where the
        model states none."""
        names = self.model.coordinates.names
        if angle not in names:
            return -np.inf, np.inf
        low, high = self.model.coordinates.range[names.index(angle)]
        return float(low), float(high)

    def is_rotation(self, angle: str) -> bool:
        """Return whether `angle`, the name of a joint angle or coordinate, is a rotation [rad], not a
        displacement [m]."""
        return bool(self.model.angle_is_rotation[self.angle_index(angle)])

    def si(self, angle: str, value: float) -> float:
        """Convert the value of an angle from degrees to rad, or of a displacement from millimetres to m."""
        return float(np.radians(value)) if self.is_rotation(angle) else 1e-3 * value

    def shown(self, angle: str, value: float) -> float:
        """Convert the value of an angle from rad to degrees, or of a displacement from m to millimetres."""
        return float(np.degrees(value)) if self.is_rotation(angle) else 1e3 * value

    def told(self, angle: str, value: float) -> str:
        """Return the value of an angle in degrees, or of a displacement in millimetres, as text with unit."""
        return f"{self.shown(angle, value):.4g} {'deg' if self.is_rotation(angle) else 'mm'}"

    def _evaluate(self, q: Array, method: int) -> None:
        self._run(self.leverage, np.ascontiguousarray(q, float), method, self._moving, self._work, self._arms)

    def _reason(self, m: int) -> str:
        """Return why the path of muscle m failed in the last evaluation."""
        status = int(self._work.path.status[m])
        inside = self._point_inside(m) if status == muscle_path.POINT_INSIDE else ""
        return inside or muscle_path.STATUS_NAMES[status]

    def _point_inside(self, m: int) -> str:
        """Return a sentence on the first point of a muscle's path that lies inside a wrapping surface; ""
        if none does.
        """
        stations, work = self.leverage.stations, self._work
        rows = range(stations.start[m], stations.start[m + 1])
        placed = work.path.wrap.placement
        for wrap in (s for s in rows if stations.kind[s] == WRAP):
            k = stations.surface[wrap]
            for number, s in enumerate(rows, 1):
                if stations.kind[s] == WRAP:
                    continue
                x = placed.rotation[k].T @ (work.path.point[s] - placed.position[k])
                if clearance(int(self.leverage.surfaces.kind[k]), self.leverage.surfaces.size[k], x) < 0.0:
                    return f"path point {number} lies inside {self.model.names.surfaces[k]}"
        return ""

    def _by_differences(self, q: Array) -> Array:
        if self.model.names.rolls:
            raise ModelError(
                "rolling without slipping constrains velocities, so moment arms cannot be computed from "
                "differences of lengths",
                where=f"model {self.model.name}: rolls.{self.model.names.rolls[0]}",
                remedy=f"use another method: {', '.join(METHODS)}",
            )
        arms = np.full(self._arms.shape, np.nan)
        self._evaluate(q, PARTIAL_VELOCITY)
        alone, status = self._work.angle.alone.copy(), self._work.angle.status.copy()
        for a in np.flatnonzero(status == kernels.path.angles.OK):
            ends = []
            for sign in (-1.0, 1.0):
                near = q.copy()
                integrate(self.leverage.tree, q, alone[a], sign * STEP, near)
                near = self.assembled(near)
                lengths = self.lengths(near)
                ends.append((lengths, self._work.angle.value[a]))
            (l_minus, t_minus), (l_plus, t_plus) = ends
            arms[:, a] = -(l_plus - l_minus) / (t_plus - t_minus)
        return arms

    def _gradient(self, q: Array, theta: Callable[[Array], float]) -> Array:
        g, near = np.zeros(len(self.leverage.tree.dof_body)), q.copy()
        for d, unit in enumerate(np.eye(len(g))):
            values = []
            for step in (-2, -1, 1, 2):  # fourth order
                integrate(self.leverage.tree, q, unit, 1e-3 * step, near)
                values.append(theta(near))
            g[d] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / 12e-3
        g[np.abs(g) < 1e-12] = 0.0
        return g


def arms_of(spec: ModelSpec, method: str | None = None) -> MomentArms:
    """Return the object that computes moment arms of a model as its file defines it, without a person, under
    the constraints of one of its methods; method : None = the first.
    """
    return MomentArms(build(spec, method=method), roles_of(spec, method))


def index_of(names: tuple[str, ...], name: str, what: str, model: str) -> int:
    """Return the index of a name in `names`; ModelError lists the allowed names.

    what, model : kind of the thing named, such as "angle", and name of the model, for the error
    """
    if name not in names:
        raise ModelError(f"unknown {what} {name!r}", where=f"model {model}", allowed=", ".join(names))
    return names.index(name)
