"""Reference solutions of the two friction experiments by SciPy, from their own equations of motion.

Brown (2017), MASc thesis, University of Waterloo, section 4.3, with the laws of equations 4.1 to 4.4 as
printed, except that k_v of equation 4.3 is read as mu_v, and equation 4.2 is extended to negative velocities
as an odd function. Nothing here is shared with the kernels. The solver restarts where a law or the contact
is not smooth, as its error control needs smooth functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Friction = Callable[[float, float, float], float]
Rates = Callable[[float, Array], list[float]]
Event = Callable[[float, Array], float]
Solution = Callable[[Array], Array]

MU_S, MU_D, V_T = 0.2, 0.15, 1e-3
F_NT = 10.0  # N, not in the thesis
K_V = 0.0154  # s/m, of Hollars in the impact
V_S, P, K_TANH = 1e-3, 2.0, 1e4  # Andersson
V_D = 0.25e-3  # Specker

STIFFNESS, LOAD, BELT = 10.0, 9.81, 0.1  # N/m, N, m/s; the block weighs 1 kg
BALL, INERTIA, RADIUS = 0.5, 5e-4, 0.05  # kg, kg m^2, m
CONTACT, MU_V, SPEED = 1e7, 10.0, 7.0 / math.sqrt(2.0)  # N/m^2, N s/m, m/s

TIGHT, CHECK = 1e-12, 1e-11
"""Relative tolerances of the reference, and of a second solution from which its error is estimated."""


def brown_mcphee(v: float, F_n: float, mu_v: float) -> float:
    """Return the friction force [N] by the law of Brown and McPhee (Brown 2017, equation 4.4).

    v : sliding velocity [m/s]; F_n : normal force [N]; mu_v : viscous coefficient [N s/m]
    """
    s = v / V_T
    static = F_n * (MU_S - MU_D) * s / (s * s / 4.0 + 3.0 / 4.0) ** 2
    return F_n * MU_D * math.tanh(4.0 * s) + static + mu_v * v * math.tanh(4.0 * F_n / F_NT)


def andersson(v: float, F_n: float, mu_v: float) -> float:
    """Return the friction force [N] by the law of Andersson (Brown 2017, equation 4.1).

    v : sliding velocity [m/s]; F_n : normal force [N]; mu_v : viscous coefficient [N s/m]
    """
    mu = MU_D + (MU_S - MU_D) * math.exp(-((abs(v) / V_S) ** P))
    return F_n * mu * math.tanh(K_TANH * v) + mu_v * v


def hollars(v: float, F_n: float, mu_v: float) -> float:
    """Return the friction force [N] by the law of Hollars (Brown 2017, equation 4.2). Its viscous part is
    proportional to F_n with the coefficient K_V, and is left out if mu_v is 0.

    v : sliding velocity [m/s]; F_n : normal force [N]; mu_v : viscous coefficient of the other laws [N s/m]
    """
    x = abs(v) / V_T
    mu = min(x, 1.0) * (MU_D + 2.0 * (MU_S - MU_D) / (1.0 + x * x))
    return F_n * (math.copysign(mu, v) + (K_V * v if mu_v else 0.0))


def specker(v: float, F_n: float, mu_v: float) -> float:
    """Return the friction force [N] by the law of Specker (Brown 2017, equation 4.3).

    v : sliding velocity [m/s]; F_n : normal force [N]; mu_v : viscous coefficient [N s/m]
    """
    s = v / V_T
    peak = F_n * MU_S - F_n * MU_D * math.tanh(V_T / V_D) - mu_v * V_T
    return peak * s * math.exp(0.5 - 0.5 * s * s) + F_n * MU_D * math.tanh(v / V_D) + mu_v * v


LAWS: dict[str, Friction] = {
    "brown_mcphee": brown_mcphee,
    "andersson": andersson,
    "hollars": hollars,
    "specker": specker,
}


def stick_slip(law: str, duration: float, tolerance: float) -> Solution:
    """Solve the motion of the block on the belt, which a spring holds back; return its velocity as a function
    of time, t : (n,) -> (1, n) [m/s]. It starts at the belt's velocity with the spring unstretched.

    law : name of the friction law; duration : end of the solution [s]; tolerance : relative tolerance
    """
    friction = LAWS[law]

    def rates(t: float, y: Array) -> list[float]:
        return [float(y[1]), -STIFFNESS * float(y[0]) - friction(float(y[1]) - BELT, LOAD, 0.0)]

    def edge(t: float, y: Array) -> float:
        return abs(y[1] - BELT) - V_T

    pieces = pieced(rates, np.array([0.0, BELT]), duration, tolerance, [edge] if law == "hollars" else [])
    return lambda t: read(pieces, t)[1:]


def impact(law: str, duration: float, tolerance: float) -> tuple[Solution, float]:
    """Solve the bounce of the ball on the floor. Return its velocity along the floor and its radius times its
    angular velocity as a function of time, t : (n,) -> (2, n) [m/s], and the end of the contact [s].

    The state is depth, its rate, velocity along the floor and angular velocity; the ball does not spin at
    touch-down.
    law : name of the friction law; duration : longest time that is solved [s]; tolerance : relative tolerance
    """
    friction = LAWS[law]

    def rates(t: float, y: Array) -> list[float]:
        depth, sinking, velocity, spin = (float(x) for x in y)
        F_n = CONTACT * depth * abs(depth)  # goes on smoothly beyond the end of contact, which ends a piece
        F = friction(velocity + RADIUS * spin, F_n, MU_V)
        return [sinking, -F_n / BALL, -F / BALL, -RADIUS * F / INERTIA]

    def end(t: float, y: Array) -> float:
        return float(y[0]) if t > 1e-4 * duration else 1.0

    def edge(t: float, y: Array) -> float:
        return abs(y[2] + RADIUS * y[3]) - V_T

    kinks = [edge] if law == "hollars" else []
    pieces = pieced(rates, np.array([0.0, SPEED, SPEED, 0.0]), duration, tolerance, kinks, end)
    last = pieces[-1][1]

    def solution(t: Array) -> Array:
        y = read(pieces, np.minimum(t, last))  # nothing acts once the ball is off
        return np.array([y[2], RADIUS * y[3]])

    return solution, last


def pieced(
    rates: Rates,
    y: Array,
    duration: float,
    tolerance: float,
    kinks: Sequence[Event],
    end: Event | None = None,
) -> list[tuple[float, float, Solution]]:
    """Integrate y' = rates(t, y) from time 0 to the duration [s], anew from every kink; return (start, stop,
    y(t)) of each piece.

    y : state at time 0; tolerance : relative tolerance of the solver
    kinks : functions of (t, y) whose zeros are points at which the rates are not smooth
    end : function of (t, y) at whose zero the integration ends early, None = it does not
    """
    from scipy.integrate import solve_ivp

    events = [*kinks, *([end] if end else [])]
    for event in events:
        event.terminal = True  # type: ignore[attr-defined]
    pieces: list[tuple[float, float, Solution]] = []
    start = 0.0
    while start < duration:
        # a kink at the start of a piece would end it at once
        head = min(start + 1e-12 * duration, duration) if pieces else start
        if head > start:
            y = y + (head - start) * np.array(rates(start, y))
        found = solve_ivp(
            rates, (head, duration), y, method="LSODA", rtol=tolerance, atol=0.1 * tolerance,
            events=events, dense_output=True,
        )  # fmt: skip
        pieces.append((start, float(found.t[-1]), found.sol))
        start, y = float(found.t[-1]), found.y[:, -1]
        if end and found.t_events[-1].size:
            break
    return pieces


def read(pieces: list[tuple[float, float, Solution]], t: Array) -> Array:
    """Evaluate a solution that was integrated piece by piece at the times t : (n,) [s]; return (n_y, n)."""
    stops = np.array([stop for _, stop, _ in pieces])
    which = np.minimum(np.searchsorted(stops, t), len(pieces) - 1)
    first = pieces[0][2](np.array([0.0]))
    y = np.empty((len(first), len(t)))
    for k in np.unique(which):
        y[:, which == k] = pieces[k][2](t[which == k])
    return y
