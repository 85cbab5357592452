"""Local minima of the fit of a torque generator: starts, the minimum that each leads to, and the limiting
inequalities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.demands import N_KIND, Demands
from kernels.torque_generator.fit import FITTED, IMPOSSIBLE, FitOptions, GeneratorFitWork, fit
from kernels.torque_generator.torque import (
    DELTA,
    LAMBDA,
    N_FIT,
    OPTIMAL,
    PASSIVE_SPAN,
    S_A,
    S_TAU,
    S_V,
    SPEED,
    WIDTH,
)

Array = NDArray[np.float64]

SHIFTS, BLENDS = (0.0, 0.5, -0.5, 1.0), (0.0, 0.5, 1.0)
"""Shifts [rad], in the direction that reduces the passive torque, and blends of the other starts."""
SAME = 1e-4
"""Objectives that differ by less are of one minimum."""
ACTIVE = 1e-6
"""Lagrange multiplier above which an inequality counts as active."""
ROW_WORDS = ("too weak", "too stiff", "stretched too far")
TOO_MUCH = "torque too large (generator too stiff or too strong)"
DEEP = 2.0
"""Strength of the start that satisfies all inequalities, divided by the least strength that does so."""


class Basin(NamedTuple):
    """A local minimum of the fit of a torque generator: its parameters x (5,), its objective, and how many
    starts of the search led to it.
    """

    x: Array
    objective: float
    n_start: int


def default_start(demands: Demands, now: Array) -> Array:
    """Return the default start of a fit, that of the program by Millard et al.: the scale s_A of the angle
    curve is the range of the motion divided by the width of the curve, the scale s_V is the largest speed of
    the motion divided by the largest speed of the curve, and s_tau is the largest torque that the motion
    demands. A present value that is larger is used instead.

    now : (5,) present values of the parameters s_A, s_V, Delta_P, lambda_P, s_tau
    """
    p = demands.parameter
    span = 2.0 * p[WIDTH] * sqrt(2.0 * log(1000.0))
    x = now.copy()
    x[S_A] = max(np.ptp(demands.theta) / span, now[S_A])
    x[S_V] = max(np.abs(demands.omega).max() / p[SPEED], now[S_V])
    x[S_TAU] = max(demands.demand.max(), now[S_TAU])
    return x


def starts_of(demands: Demands, now: Array) -> list[Array]:
    """Return the starts of a search: the default start; starts with passive curves that are shifted or
    blended; the present parameters; and one at which the generator can make the whole motion. now : (5,) -
    the present parameters.
    """
    first = default_start(demands, now)
    towards = np.sign(demands.parameter[PASSIVE_SPAN])
    found = [first]
    for shift in SHIFTS:
        for blend in BLENDS:
            x = first.copy()
            x[DELTA], x[LAMBDA] = towards * shift, blend
            if (x != first).any():
                found.append(x)
    reach = abs(demands.theta - demands.parameter[OPTIMAL]).max() / demands.parameter[WIDTH]
    strong = first.copy()
    strong[S_A], strong[S_V], strong[LAMBDA] = max(1.0, reach), 2.0 * first[S_V], 1.0
    strong[S_TAU] = DEEP * max(1.0, demands.demand.max() / demands.cap.min())
    return [*found, now.copy(), strong]


def search(
    demands: Demands, options: FitOptions, work: GeneratorFitWork, several: bool,
    stopped: Callable[[], bool], more: Sequence[Array] = (),
) -> tuple[tuple[Basin, ...], int, tuple[tuple[int, str], ...], str]:  # fmt: skip
    """Search for the minima of the fit of a torque generator to which several starts lead.

    Returns the minima, the best first; the index of the minimum that the default start reached; the
    inequalities that limit the best minimum; and, if no minimum was found, a sentence that says why.

    demands, options : torques of the motion with limits of the activation; target, bounds and tolerances
    several : whether further starts are tried once one has led to a minimum
    stopped : function that returns whether to end now
    more : further starts (5,), tried after the usual ones
    """
    found: list[list] = []
    default, least, impossible = -1, np.inf, True
    words = (ROW_WORDS[0], TOO_MUCH if demands.floor.any() else ROW_WORDS[1], ROW_WORDS[2])
    for k, start in enumerate([*starts_of(demands, options.target), *more]):
        if stopped() or (not several and k and found):
            break
        x = start.copy()
        status, _, violation = fit(demands, options, work, x)
        least, impossible = min(least, violation), impossible and status == IMPOSSIBLE
        if status != FITTED:
            continue
        objective = float(options.weight @ (x - options.target) ** 2)
        same = next((basin for basin in found if abs(basin[1] - objective) < SAME), None)
        if same is None:
            found.append(same := [x, objective, 0, holding_rows(work, words), len(found)])
        same[2] += 1
        default = same[4] if k == 0 else default
        if objective < SAME**2:
            break  # nothing is nearer to the generator as it is than itself
    if not found:
        return (), -1, (), why_none(impossible, least, options)
    ordered = sorted(found, key=lambda basin: basin[1])
    where = next((k for k, basin in enumerate(ordered) if basin[4] == default), -1)
    return tuple(Basin(*basin[:3]) for basin in ordered), where, ordered[0][3], ""


def why_none(impossible: bool, least: float, options: FitOptions) -> str:
    """Return a sentence on why no start led to a minimum of the fit of a torque generator.

    impossible : whether every start showed that no parameters within the bounds fulfil all constraints
    least : the smallest remaining violation of a constraint [tau_o, the isometric torque]
    """
    if not impossible and least <= options.fulfilled:
        return (
            "the fit did not converge: parameters that fulfil all constraints were found, but within "
            f"{options.n_iteration} steps not those nearest to the start; this happens if the greatest "
            "allowed activation is small"
        )
    why = (
        "no parameters within the bounds allow the torque of this motion"
        if impossible
        else "the fit did not converge"
    )
    return f"{why}: a constraint stays violated by {least:.2g} times the greatest isometric torque"


def holding_rows(work: GeneratorFitWork, words: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Return the inequalities that limit the newest fit of a torque generator, as pairs (frame, name).

    In each frame the generator has to be, for example, strong enough. An inequality limits the fit if its
    Lagrange multiplier is above zero; those with the largest multipliers come first.

    words : name of the violation of each kind of inequality, such as "too weak"
    """
    multiplier = work.quadratic.multiplier[: len(work.value)]
    rows = [int(j) for j in np.argsort(-multiplier)[:N_FIT] if multiplier[j] > ACTIVE]
    return tuple((j // N_KIND, words[j % N_KIND]) for j in rows)
