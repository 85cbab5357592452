"""Moment arms by the four methods of Sherman, Seth, Delp (2010) over an angle, and the torque of a muscle on
the joint by their eq. 24."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.constrained import OK, constrained_dynamics
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.system import new_dynamics_work
from kernels.path.moment_arms import FORCE, force_of_muscle, moment_arms, new_leverage_work
from rtsim.errors import ModelError
from rtsim.methods.muscles.moment_arms import DIFFERENCES, METHODS, MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

EXACT = tuple(METHODS)
"""The methods of eqs 18, 15 and 11, which the paper derives from one another."""
EVERY = (*EXACT, DIFFERENCES)
N_VALUE = 61
TENSION_N = 250.0


class ComparedArms(NamedTuple):
    """Moment arms about one angle by all methods of the paper.

    angle : name of the angle
    values : (n,) its values [rad]
    muscles : names of the n_muscle muscles
    lengths : (n, n_muscle) lengths of the muscles [m]
    arms : name of the method -> (n, n_muscle) moment arms [m]
    """

    angle: str
    values: Array
    muscles: tuple[str, ...]
    lengths: Array
    arms: dict[str, Array]

    def apart(self, methods: tuple[str, ...]) -> float:
        """Return the largest difference between the moment arms by these methods, over all muscles and all
        values of the angle [m].
        """
        found = np.array([self.arms[method] for method in methods])
        return float(np.ptp(found, axis=0).max())


def arms_of(model: str) -> MomentArms:
    """Return the object that computes the moment arms of a shipped model; model : its name"""
    spec = load_model(model)
    return MomentArms(build(spec), roles_of(spec))


def compared(arms: MomentArms, angle: str, ends_deg: tuple[float, float], n: int = N_VALUE) -> ComparedArms:
    """Return moment arms by all four methods of the paper at n values of an angle, evenly spaced between the
    two ends [deg].
    """
    values = np.radians(np.linspace(*ends_deg, n))
    points = {method: list(arms.sweep(angle, values, method=method)) for method in EVERY}
    return ComparedArms(
        angle,
        values,
        arms.model.names.muscles,
        np.array([point.lengths for point in points[EVERY[0]]]),
        {method: np.array([point.arms for point in found]) for method, found in points.items()},
    )


def effective_torque(arms: MomentArms, q: Array, muscle: str, angle: str, tension: float) -> float:
    """Return the torque about an angle that accelerates the model under a muscle's tension (eq. 24 of the
    paper) [N m].

    The acceleration v-dot comes from constrained forward dynamics at rest without gravity. The torque is the
    power of the generalized forces f = M v-dot, with the mass matrix M, while the angle changes at unit rate;
    it must equal the moment arm times the tension.

    q : (n_q,) coordinates; tension : [N]
    """
    C, names = arms.coupling(q, angle), arms.model.names
    leverage = new_leverage_work(arms.leverage)
    moment_arms(arms.leverage, q, FORCE, 1, leverage, np.zeros((len(names.muscles), len(names.angles))))
    n_v, n = len(C), len(leverage.constraint.value)
    system = arms.model.system._replace(gravity=np.zeros(3))
    work, still = new_dynamics_work(system.tree, n), np.zeros((len(names.bodies), 6))
    tau, rest, v_dot, f = (np.zeros(n_v) for _ in range(4))
    force_of_muscle(arms.leverage, names.muscles.index(muscle), tension, 1, leverage, tau)
    status = constrained_dynamics(
        system, arms.constraints, q, rest, tau, still, work, leverage.constraint, v_dot, np.zeros(n)
    )
    if status != OK:
        raise ModelError(
            "the constrained dynamics of this model have no solution",
            where=f"model {arms.model.name}: angle {angle}",
            remedy="give a mass to every body that moves, or choose other coordinates",
        )
    inverse_dynamics(system, q, rest, v_dot, still, work, f)
    return float(C @ f)


def torque_apart(arms: MomentArms, found: ComparedArms, every: int = 10) -> float:
    """Return the largest difference between the torque of the paper's eq. 24 and moment arm times tension, at
    every `every`-th of the angles, relative to the largest moment arm times tension.
    """
    expected, torques = [], []
    for k in range(0, len(found.values), every):
        q = arms.assembled(angle=found.angle, value=float(found.values[k]))
        for m, muscle in enumerate(found.muscles):
            expected.append(TENSION_N * found.arms[EXACT[0]][k, m])
            torques.append(effective_torque(arms, q, muscle, found.angle, TENSION_N))
    return float(np.abs(np.subtract(torques, expected)).max() / np.abs(expected).max())


def distance_from_pin(arms: MomentArms, muscle: str, body: str, values: Array, angle: str) -> Array:
    """Return the distance of a body's origin, where its pin joint is, from the line of a straight muscle at n
    values of an angle, (n,) [m]. In figure 1 of the paper it is the moment arm.

    values : (n,) - values of the angle [rad]; angle : its name in the model
    """
    stations, bodies, found = arms.model.stations, arms.model.names.bodies, []
    m = arms.model.names.muscles.index(muscle)
    for value in values:
        q = arms.assembled(angle=angle, value=float(value))
        places = arms.body_places(q)
        rows = (int(stations.start[m]), int(stations.start[m + 1]) - 1)
        first, last = (placed(stations.point[s], places[bodies[stations.body[s]]]) for s in rows)
        along = (last - first) / np.linalg.norm(last - first)
        found.append(np.linalg.norm(np.cross(first - places[body][1], along)))
    return np.array(found)


def placed(point: Array, place: tuple[Array, Array]) -> Array:
    """Return the position of a body-fixed point in ground, (3,) [m]; place : position and rotation of the
    body.
    """
    rotation, origin = place
    return np.asarray(rotation @ point + origin)
