"""Fit of the contact parameters of a foot to real walking by bounded least squares with exact derivatives
(Brown 2017).

The unknowns are the 30 parameters of the contact, which all footsteps share, and 70 spline values (knots) of
each footstep, which correct its motion and rotate its toes. Validation keeps the parameters fixed and only
fits the knots. The method is SciPy's trust-region reflective method, as in the thesis, from several starts
near an initial guess. Basin hopping (Wales, Doye 1997) can be added as a global optimiser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import OptimizeResult, basinhopping, least_squares

from rtsim.methods.foot import foot_parameters
from rtsim.methods.foot.foot_misfit import Errors, Simulated, StepMisfit, Weights
from rtsim.methods.foot.foot_model import marked_alike
from rtsim.methods.foot.foot_motion import (
    HEIGHT,
    LARGEST_LIFT,
    N_KNOT,
    N_OWN,
    N_SPLINE,
    SPLINE_SCALE,
    TOE,
    spline_bounds,
)
from rtsim.methods.foot.foot_parameters import Bounds, fill, new_foot
from rtsim.methods.foot.foot_trial import FootTrial

Array = NDArray[np.float64]
Progress = Callable[[str], None]

TOLERANCE, FINE = 1e-6, 1e-8
"""Relative change of the cost, and of the unknowns, at which a search ends: for fits of forces alone, whose
cost hardly changes in some directions, and for fits with pressure."""
MOST_EVALUATIONS = 400
BENT = (0.0, 0.3, -0.3, 0.6)
"""Angles of the toes at the starts of a validation [rad], as the recorded motion does not contain them."""
AT_BOUND = 1e-3
"""Distance from a bound, as a fraction of the range, below which a parameter counts as at the bound."""
WEAK = 1e-2
"""Ratio to the largest singular value below which a direction counts as not determined."""
HOP, HOP_TEMPERATURE = 0.3, 0.5
"""Settings of basin hopping: largest step, in units of the scales; temperature, as a fraction of the least
cost."""


class Weak(NamedTuple):
    """A direction in the space of the contact parameters in which the residuals of the fit hardly change.

    singular : its singular value (of the residuals' derivatives), divided by the largest one
    parts : names of parameters and their components of the direction, the largest first
    """

    singular: float
    parts: tuple[tuple[str, float], ...]


class FootFit(NamedTuple):
    """Result of a fit of a foot's contact parameters to several footsteps.

    parameters : (30,) fitted parameters
    knots : knots of the splines that correct the motion of each step, (N_SPLINE, N_KNOT)
    cost : cost of Brown (2017, eq. 5.52), the weighted squared misfit, as the mean over the steps
    costs : cost that the search from each start has reached; NaN = interrupted
    simulated, errors : simulated contact of each step, and its deviations from the measured contact
    at_bound : names of the parameters that lie at a bound of the search
    held : names of the parameters that were not fitted
    weak : directions in the space of the parameters that the data do not determine
    n_evaluation : number of evaluations of the best start
    complete : whether all starts were finished
    heights : fitted constant shift of the heel's height in each footstep, 0 if it was not fitted [m]
    """

    parameters: Array
    knots: tuple[Array, ...]
    cost: float
    costs: Array
    simulated: tuple[Simulated, ...]
    errors: tuple[Errors, ...]
    at_bound: tuple[str, ...]
    held: tuple[str, ...]
    weak: tuple[Weak, ...]
    n_evaluation: int
    complete: bool
    heights: tuple[float, ...]


class FootProblem:
    """Residuals of several footsteps, and their derivatives with respect to all unknowns. Each unknown is
    divided by its scale.

    Parameters
    ----------
    trials : the steps
    weights : weights of the terms of the cost
    around : (30,) initial guess, which centres the bounds
    held : whether the parameters are fixed at this guess, and only the knots are fitted
    lifted : for each footstep, whether a constant height of the heel is a further unknown; empty = no
      footstep has it
    """

    def __init__(
        self,
        trials: Sequence[FootTrial],
        weights: Weights,
        around: Array,
        held: bool = False,
        lifted: Sequence[bool] = (),
    ) -> None:
        self.model = new_foot(weights.rubs)
        self.steps = [StepMisfit(trial, weights, self.model) for trial in trials]
        self.around, self.held = around, held
        free = np.ones(foot_parameters.N, bool)
        free[2] = weights.rubs  # without friction nothing tells its coefficient
        self.free = np.flatnonzero(free & (not held))
        own, shape = spline_bounds(), foot_parameters.bounds(around)
        self._knots = [lifting(one) for one in lifted or [False] * len(trials)]
        ends = len(self.free) + np.cumsum([0, *(knots.shape[1] for knots in self._knots)])
        self._own = [slice(*pair) for pair in pairwise(ends.tolist())]
        scale, low, high = [foot_parameters.SCALE[self.free]], [shape.low[self.free]], [shape.high[self.free]]
        for knots in self._knots:
            lift = np.full(knots.shape[1] - N_OWN, LARGEST_LIFT)
            scale += [np.repeat(SPLINE_SCALE, N_KNOT), SPLINE_SCALE[HEIGHT] * np.ones(len(lift))]
            low, high = [*low, own.low, -lift], [*high, own.high, lift]
        self.scale: Array = np.concatenate(scale)
        self.bounds = Bounds(np.concatenate(low) / self.scale, np.concatenate(high) / self.scale)
        self.best: tuple[float, Array] = (np.inf, np.zeros(0))
        self.bends = any(step.with_pressure for step in self.steps)
        self._divide = 1.0 / np.sqrt(len(trials))

    def start(self, parameters: Array, bent: float = 0.0) -> Array:
        """Return initial unknowns within the bounds: the given parameters (30,), the recorded motion without
        corrections, and in all footsteps toes that are bent by the angle `bent` [rad].
        """
        inner = 1e-6 * (self.bounds.high - self.bounds.low)
        knots = np.zeros((N_SPLINE, N_KNOT))
        knots[TOE] = bent
        x = np.zeros(len(self.scale))
        x[: len(self.free)] = parameters[self.free]
        for own in self._own:
            x[own][:N_OWN] = knots.ravel()
        return np.asarray(np.clip(x / self.scale, self.bounds.low + inner, self.bounds.high - inner))

    def split(self, x: Array) -> tuple[Array, list[Array]]:
        """Split the unknowns of a fit into parameters (30,) and the knots of each step (N_SPLINE, N_KNOT), to
        whose heights a constant height of the heel is added if it is an unknown.
        """
        values = x * self.scale
        parameters = self.around.copy()
        parameters[self.free] = values[: len(self.free)]
        steps = zip(self._knots, self._own, strict=True)
        return parameters, [(knots @ values[own]).reshape(N_SPLINE, N_KNOT) for knots, own in steps]

    def heights(self, x: Array) -> tuple[float, ...]:
        """Return the constant shift of the heel's height in each step [m], from the unknowns x; 0 = none."""
        values = x * self.scale
        return tuple(float(values[own][N_OWN:].sum()) for own in self._own)

    def values(self, x: Array) -> Array:
        """Return the residuals of all steps, scaled so that the sum of their squares is the mean of the
        steps' costs.
        """
        parameters, knots = self.split(x)
        fill(self.model, parameters)
        found = np.concatenate([step.values(own) for step, own in zip(self.steps, knots, strict=True)])
        found *= self._divide
        if self.bends:
            found = np.concatenate([found, np.zeros(len(x))])
        cost = float(found @ found)
        if cost < self.best[0]:
            self.best = cost, x.copy()
        return found

    def slopes(self, x: Array) -> Array:
        """Return the derivatives of `values` with respect to the unknowns, (m, n)."""
        parameters, knots = self.split(x)
        change = fill(self.model, parameters)[self.free]
        blocks = [step.slopes(own, change) for step, own in zip(self.steps, knots, strict=True)]
        n_row = sum(len(by) for by, _ in blocks)
        found = np.zeros((n_row, len(x)))
        row = 0
        for (by_parameter, by_knot), lifted, own in zip(blocks, self._knots, self._own, strict=True):
            found[row : row + len(by_parameter), : len(self.free)] = by_parameter
            found[row : row + len(by_parameter), own] = by_knot @ lifted
            row += len(by_parameter)
        if self.bends:
            found = np.vstack([found, self._bend(blocks)])
        found *= self._divide * self.scale
        return found

    def _bend(self, blocks: Sequence[tuple[Array, Array]]) -> Array:
        """Return rows (n, n) that add to a Gauss-Newton search that curvature of the pressure terms which the
        derivatives of the residuals lack. Their residuals are 0, so that cost and gradient stay the same.

        blocks : for each step the derivatives of its residuals with respect to parameters and knots"""
        n, n_free = len(self.scale), len(self.free)
        total = np.zeros((n, n))
        for k, (step, (by_parameter, by_knot)) in enumerate(zip(self.steps, blocks, strict=True)):
            if not step.with_pressure:
                continue
            own = np.r_[:n_free, self._own[k]]
            all_of = block_diag(np.eye(n_free), self._knots[k])
            n_pressed = len(step.trial.pressure.frames) if step.trial.pressure is not None else 0
            rows = np.hstack([by_parameter[-n_pressed:], by_knot[-n_pressed:]])
            total[np.ix_(own, own)] += all_of.T @ (step.curvature - rows.T @ rows) @ all_of
        values, directions = np.linalg.eigh(total * np.outer(self.scale, self.scale))
        return np.asarray((directions * np.sqrt(np.maximum(values, 0.0))).T / self.scale)


def lifting(lifted: bool) -> Array:
    """Return the matrix (N_OWN, n_own) that converts the unknowns of a footstep to its N_OWN knots. Unknowns
    are the knots and, if `lifted`, a constant that is added to all knots of the heel's height.
    """
    lift = np.zeros((N_SPLINE, N_KNOT))
    lift[HEIGHT] = 1.0
    return np.hstack([np.eye(N_OWN), lift.reshape(-1, 1)[:, : int(lifted)]])


def search(problem: FootProblem, x: Array, most: int = MOST_EVALUATIONS) -> OptimizeResult:
    """Search for a local minimum of a foot's misfit from the unknowns x, by SciPy's trust-region reflective
    method; most : largest number of evaluations."""
    tolerance = FINE if problem.bends else TOLERANCE
    return least_squares(
        problem.values,
        x,
        problem.slopes,
        bounds=problem.bounds,
        method="trf",
        ftol=tolerance,
        xtol=tolerance,
        gtol=TOLERANCE**2,
        max_nfev=most,
    )


def fit_foot(
    trials: Sequence[FootTrial],
    weights: Weights,
    guesses: Array,
    around: Array,
    progress: Progress = lambda text: None,
    hops: int = 0,
) -> FootFit:
    """Fit the contact parameters of a foot: return the best of the minima to which the guesses (n, 30) lead.

    hops : number of basin-hopping steps after the searches from the guesses
    around : (30,) initial guess, near which the centres of the contact ellipsoids stay
    progress : called with a sentence after each start

    Markers may be attached differently to the foot of a footstep of another trial or side than the first. A
    constant shift of its heel's height is then a further unknown. After KeyboardInterrupt the best result so
    far is returned.
    """
    lifted = [not marked_alike(trial, trials[0]) for trial in trials]
    problem = FootProblem(trials, weights, around, lifted=lifted)
    costs = np.full(len(guesses) + hops, np.nan)
    n_evaluation, complete = 0, False
    try:
        least = np.inf
        for k, parameters in enumerate(guesses):
            found = search(problem, problem.start(parameters))
            costs[k] = 2.0 * found.cost
            if costs[k] < least:
                least, n_evaluation = costs[k], found.nfev
            ended = "" if found.status else ", the greatest number allowed"
            progress(
                f"start {k + 1} of {len(guesses)}: cost {costs[k]:.4g} after {found.nfev} evaluations{ended}"
            )
        if hops:
            _hop(problem, hops, costs[len(guesses) :], progress)
        complete = True
    except KeyboardInterrupt:
        if not problem.best[1].size:
            raise
        progress("interrupted: the best fit so far is used")
    return outcome(problem, costs, n_evaluation, complete)


def _hop(problem: FootProblem, n: int, costs_out: Array, progress: Progress) -> None:
    """Run n steps of basin hopping from the best minimum so far; costs_out : (n,) their costs, written."""
    seen: list[float] = []

    def descend(_: object, x: Array, *args: object, **options: object) -> OptimizeResult:
        inner = 1e-6 * (problem.bounds.high - problem.bounds.low)
        found = search(problem, np.clip(x, problem.bounds.low + inner, problem.bounds.high - inner))
        seen.append(2.0 * found.cost)
        costs_out[len(seen) - 1 : len(seen)] = seen[-1:]
        progress(f"random restart (hop) {len(seen)} of {n}: cost {seen[-1]:.4g}, best {problem.best[0]:.4g}")
        return OptimizeResult(x=found.x, fun=2.0 * found.cost, success=True, nfev=found.nfev, message="")

    def cost(x: Array) -> float:
        return float(np.sum(problem.values(x) ** 2))

    basinhopping(
        cost,
        problem.best[1],
        niter=n - 1,
        T=HOP_TEMPERATURE * problem.best[0],
        stepsize=HOP,
        minimizer_kwargs={"method": descend},
        rng=np.random.default_rng(0),
    )


def validate_foot(
    trials: Sequence[FootTrial],
    weights: Weights,
    parameters: Array,
    progress: Progress = lambda text: None,
    lifted: bool = False,
) -> FootFit:
    """Predict the contact of footsteps that were not used to fit the parameters (30,) of the foot; compare it
    with their measured forces, centres of pressure and pressures.

    The parameters are fixed. Only the spline values (knots) that correct the recorded motion of each footstep
    are fitted, by searches that begin with differently bent toes; the best result is returned.

    lifted : whether a constant shift of the heel's height is fitted, too: for markers attached differently
    """
    problem = FootProblem(trials, weights, parameters, held=True, lifted=[lifted] * len(trials))
    costs, complete, n_evaluation = np.full(len(BENT), np.nan), False, 0
    try:
        for k, bent in enumerate(BENT):
            found = search(problem, problem.start(parameters, bent))
            costs[k] = 2.0 * found.cost
            if costs[k] <= np.nanmin(costs):
                n_evaluation = found.nfev
        complete = True
    except KeyboardInterrupt:
        if not problem.best[1].size:
            raise
        progress("interrupted: the best fit so far is used")
    return outcome(problem, costs, n_evaluation, complete)


def outcome(problem: FootProblem, costs: Array, n_evaluation: int, complete: bool) -> FootFit:
    """Return the result of a fit from the best unknowns of all searches; costs : cost of each start, complete
    : whether all starts were finished."""
    cost, x = problem.best
    parameters, knots = problem.split(x)
    fill(problem.model, parameters)
    simulated = tuple(step.simulate(own) for step, own in zip(problem.steps, knots, strict=True))
    errors = tuple(step.errors(found) for step, found in zip(problem.steps, simulated, strict=True))
    n, names = len(problem.free), foot_parameters.NAMES
    width = problem.bounds.high - problem.bounds.low
    near = np.minimum(x - problem.bounds.low, problem.bounds.high - x) < AT_BOUND * width
    at_bound = tuple(names[problem.free[k]] for k in np.flatnonzero(near[:n]))
    held = tuple(name for k, name in enumerate(names) if k not in problem.free)
    weak = _weak_directions(problem, x, near) if n else ()
    return FootFit(
        parameters=parameters, knots=tuple(knots), cost=cost, costs=costs, simulated=simulated,
        errors=errors, at_bound=at_bound, held=held, weak=weak, n_evaluation=n_evaluation,
        complete=complete, heights=problem.heights(x),
    )  # fmt: skip


def _weak_directions(problem: FootProblem, x: Array, near: NDArray[np.bool_]) -> tuple[Weak, ...]:
    """Find directions of the parameters that the data do not determine, with the knots free to follow.

    near : mask of the unknowns that are at a bound; these are left out
    """
    values, directions, kept = determined(problem, x, near)
    found = []
    for value, direction in zip(values[::-1], directions[::-1], strict=True):
        if value >= WEAK * values[0]:
            break
        order = np.argsort(-np.abs(direction))[:4]
        parts = ((foot_parameters.NAMES[problem.free[kept[k]]], float(direction[k])) for k in order)
        found.append(Weak(float(value / values[0]), tuple(part for part in parts if abs(part[1]) > 0.2)))
    return tuple(found)


def determined(
    problem: FootProblem, x: Array, near: NDArray[np.bool_]
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return how well the data determine the parameters that are not at a bound: singular values (m,),
    directions (m, n_kept), and the indices of these parameters.

    The singular values and directions are those of the residuals' derivatives with respect to the parameters,
    each divided by its scale. Changes of the residuals that free knots could reproduce are projected out
    before.
    """
    n = len(problem.free)
    slopes = problem.slopes(x)
    kept = np.flatnonzero(~near[:n])
    by_parameter, by_knot = slopes[:, kept], slopes[:, n:][:, ~near[n:]]
    basis, size, _ = np.linalg.svd(by_knot, full_matrices=False)
    basis = basis[:, size > 1e-9 * size[0]]
    left = by_parameter - basis @ (basis.T @ by_parameter)
    _, values, directions = np.linalg.svd(left, full_matrices=False)
    return values, directions, kept
