"""Static equilibrium reached from the neutral pose of a model: damped Newton method with exact
derivatives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.dynamics.reduction import PACE
from kernels.joints.motions import TRANSLATES
from kernels.joints.tree import integrate
from kernels.rosenbrock.trace import Trace
from rtsim.errors import ModelError
from rtsim.simulation.model_state import ModelState
from rtsim.simulation.statics import Statics, statics_at

Array = NDArray[np.float64]

N_ITERATION = 500
N_REFUSED = 100
"""Number of steps in all that may be taken back before a search ends."""
FIRST_STEP = 1e-2
"""The first step is as long as the model would fall within twice this time [s]."""
LARGEST_TURN, LARGEST_SHIFT = 0.3, 1.0
"""Largest step of a dof [rad, m]."""
GROWS, ROUNDING = 1e-6, (1e-12, 1e-7)
"""Square of the rate [1/s^2] at which a deviation must grow to count as unstable: this, and this part of the
largest square of a frequency where the forces have a potential, and where they have none, as friction."""
SKEW = 1e-9
"""Skew part of the stiffness, of the whole, from which the forces have no potential."""
FLAT = 1e-10
"""Stiffness along what nothing acts on, of the largest one and of 1/s^2."""
LEAST_WORK = 0.05
"""Work of a step, of what the slopes foresaw, below which it is taken back."""
MASSLESS = 1e-14
"""Inertia of the largest one that every dof has at least."""
PUSH, N_PUSH = 1e-4, 5
"""Displacement of a search off an unstable pose [rad, m], ten times as far each time, and number of times."""


class Equilibrium(NamedTuple):
    """Result of a search for a static equilibrium."""

    n_iteration: int  # 0 = the neutral pose itself
    stable: bool  # False: the neutral pose balances, but a deviation would grow


class RestSlopes(NamedTuple):
    """Derivatives of the forces of a model at rest. They are taken with respect to y = L' delta, where delta
    are changes of the free dofs (those that the search may move) and L is the Cholesky factor of their
    mass matrix. In y the mass matrix is the identity.
    """

    L: Array  # (n, n) - Cholesky factor of M
    f: Array  # (n,) - L^-1 F
    stiffness: Array  # (n, n) - -L^-1 K L^-T
    square: Array  # (n,) - frequencies of its symmetric part, squared [1/s^2], rising
    way: Array  # (n, n) - their directions, as columns
    stable: bool  # no small deviation grows without end


def find_equilibrium(
    simulator: ModelState, held: tuple[str, ...], gravity: bool
) -> tuple[Equilibrium, Array]:
    """Search for a static equilibrium, beginning at the simulator's q, the neutral pose; return the result
    of the search and the coordinates q : (n_q,) of the equilibrium.

    held : names of coordinates that keep their values; all others are in equilibrium
    gravity : whether gravity acts, and with it the loads that act before time zero; otherwise neither does

    If the neutral pose is in equilibrium, it is kept, stable or not. Otherwise the search reduces the
    potential energy and ends in a stable equilibrium. Coordinates on which no force acts keep their values.
    The simulator is not changed, as the search has its own state. Raises ModelError if no equilibrium is
    found.
    """
    resting = at_rest(simulator, gravity)
    with np.errstate(all="ignore"):
        return EquilibriumSearch(resting, held).run(), resting.q


def at_rest(simulator: ModelState, gravity: bool) -> ModelState:
    """Return another state of the same model, at simulator.q and at rest before time zero.

    gravity : whether gravity and the loads act; otherwise neither does
    """
    model, weight = simulator.model, simulator.model.system.gravity.copy()
    resting = ModelState(replace(model, system=model.system._replace(gravity=weight)), simulator.settings)
    resting.q[:], resting.gain[:] = simulator.q, simulator.gain
    if not gravity:  # after it was built, as a model may have other kernels without
        weight[:], resting.gain[:] = 0.0, 0.0
    resting.start_time = -resting.options.step  # loads that start at time zero do not act yet
    resting.options = resting.options._replace(secant=0)
    if resting.work.reduction is not None:
        resting.work.reduction.clock[PACE] = 0.0  # coordinates prescribed over time rest where they start
    resting.refresh()
    return resting


class EquilibriumSearch:
    """Newton's method with descent steps in a trust region, for a static equilibrium of a model.

    Along directions of negative stiffness, in which a deviation grows, the stiffness is taken with the
    opposite sign, so that the forces do positive work over every step. The trust region grows or shrinks with
    the ratio of the work done to the predicted work (Nocedal, Wright 2006, Numerical Optimization, chapter
    4). Forces take the place of the gradient of a potential there, as friction has no potential.

    simulator : the model at rest; its q is moved by the search; held : names of coordinates that keep their
        values
    """

    def __init__(self, simulator: ModelState, held: tuple[str, ...]) -> None:
        model = simulator.model
        self.tree = simulator.simulation.system.tree
        names = dict(zip(model.coordinates.names, model.coordinates.dof.tolist(), strict=True))
        self.simulator = simulator
        given = [*(names[name] for name in held), *model.couplers.dof.tolist()]
        self.free = np.setdiff1d(np.arange(model.n_v), given)
        self.most = np.where(self.tree.dof_rotates[self.free] == TRANSLATES, LARGEST_SHIFT, LARGEST_TURN)
        self.trace: Trace = simulator.trace(1)

    def run(self) -> Equilibrium:
        """Search for the equilibrium, beginning at the coordinates of the simulator."""
        n, n_refused, n_push, radius = 0, 0, 0, 0.0
        here = self.forces()
        if not len(self.free):
            return Equilibrium(0, stable=True)
        while n < N_ITERATION and n_refused < N_REFUSED and n_push < N_PUSH and here.finite:
            ways = ways_of(here)
            if here.balanced and (n == 0 or ways.stable):
                return Equilibrium(n + self.polished(ways) if n else n, ways.stable)
            n += 1
            if here.balanced:
                self.move(np.clip(PUSH * 10.0**n_push * off(ways), -self.most, self.most))
                here, radius, n_push = self.forces(), 0.0, n_push + 1
                continue
            radius = radius or FIRST_STEP**2 * float(np.linalg.norm(ways.f))
            y, before = self.step(ways, radius), self.simulator.q.copy()
            self.move(solve(ways.L.T, y))
            after = self.forces()
            work = agreement(after, ways, y) if after.finite else -1.0
            if work > LEAST_WORK:
                here = after
            else:
                self.simulator.q[:] = before
                n_refused += 1
            radius = next_radius(work, radius, float(np.linalg.norm(y)))
        raise self.error(here)

    def forces(self) -> Statics:
        """Compute the forces at rest and their derivatives at simulator.q."""
        return statics_at(self.simulator, self.trace, self.free)

    def move(self, delta: Array) -> None:
        """Move simulator.q by changes delta : (n,) of the free dofs, those that the search may move."""
        whole = np.zeros(self.simulator.model.n_v)
        whole[self.free] = delta
        integrate(self.tree, self.simulator.q, whole, 1.0, self.simulator.q)

    def step(self, ways: RestSlopes, radius: float) -> Array:
        """Return the next step of the search as y = L' delta, (n,), where delta are the changes of the free
        dofs and L is the Cholesky factor of their mass matrix. It is the Newton step, damped if y would be
        longer than `radius` or a dof would move too far.

        ways : derivatives of the forces at the present state
        """
        damping, one = FLAT * (1.0 + float(np.abs(ways.square).max())), np.eye(len(ways.f))
        uphill = ways.stiffness
        if not ways.stable:
            uphill = uphill + ways.way * np.maximum(-2.0 * ways.square, 0.0) @ ways.way.T
        while True:
            y = solve(uphill + damping * one, ways.f)
            length = float(np.linalg.norm(y))
            too_far = float((np.abs(solve(ways.L.T, y)) / self.most).max())
            if length <= radius * (1.0 + 1e-9) and too_far <= 1.0:
                return y
            damping = max(2.0 * damping, 0.5 * float(np.linalg.norm(ways.f)) / radius)

    def polished(self, ways: RestSlopes) -> int:
        """Take one more Newton step, to reduce the residual force to rounding errors; return the number of
        steps: 1, or 0 if the step did not reduce the force and was undone.

        ways : derivatives of the forces at the equilibrium that was found
        """
        before = self.simulator.q.copy()
        self.move(solve(ways.L.T, self.step(ways, np.inf)))
        after = self.forces()
        left = float(np.linalg.norm(solve(ways.L, after.F))) if after.finite else np.inf
        if after.balanced and left < float(np.linalg.norm(ways.f)):
            return 1
        self.simulator.q[:] = before
        return 0

    def error(self, last: Statics) -> ModelError:
        """Return the error that no equilibrium was found, which names the coordinate with the largest
        imbalance and its size; last : forces where the search ended
        """
        model = self.simulator.model
        where = f"{model.name}: simulation.equilibrium"
        if not last.finite:
            return ModelError(
                "the forces at the neutral pose are not finite numbers",
                where=where,
                remedy="correct the neutral values of the coordinates, the loads or the elements",
            )
        k = int((np.abs(last.F) / np.sqrt(np.diag(last.M))).argmax())
        d = int(self.free[k])
        names = dict(zip(model.coordinates.dof.tolist(), model.coordinates.names, strict=True))
        what = names.get(d, f"a motion of the body {model.names.bodies[self.tree.dof_body[d]]}")
        angular = self.tree.dof_rotates[d] != TRANSLATES
        if d in names:
            angular = model.coordinates.is_angle[model.coordinates.names.index(names[d])]
        return ModelError(
            f"no static equilibrium near the neutral pose: {what} stays out of balance by "
            f"{abs(last.F[k]):.3g} {'N m' if angular else 'N'}",
            where=where,
            remedy="change the neutral pose, hold a coordinate that nothing supports, or start without "
            "equilibrium",
        )


def ways_of(statics: Statics) -> RestSlopes:
    """Return the derivatives of the forces of a model at rest, with the eigenvalues (squares of angular
    frequencies) and eigenvectors of its stiffness matrix, in coordinates in which the mass matrix is the
    identity (see RestSlopes). A dof without mass is given a small mass.
    """
    M = statics.M + MASSLESS * float(np.diag(statics.M).max()) * np.eye(len(statics.M))
    L = np.asarray(np.linalg.cholesky(M), np.float64)
    stiffness = -solve(L, solve(L, statics.K).T).T
    square, way = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    largest = float(np.abs(stiffness).max(initial=0.0))
    potential = np.abs(stiffness - stiffness.T).max(initial=0.0) <= SKEW * largest
    slowest = square if potential else np.linalg.eigvals(stiffness).real
    grows = slowest < -GROWS - ROUNDING[0 if potential else 1] * largest
    return RestSlopes(
        L=L, f=solve(L, statics.F), stiffness=stiffness, square=square, way=way, stable=not grows.any()
    )


def solve(A: Array, b: Array) -> Array:
    """Return the solution x of A x = b; if A is singular, the least-squares solution of least length."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0])


def off(ways: RestSlopes) -> Array:
    """Return the direction in which a deviation from an unstable equilibrium grows fastest, as changes of the
    free dofs, (n,), the largest of them 1; ways : derivatives of the forces at the equilibrium
    """
    delta = solve(ways.L.T, ways.way[:, 0])
    return delta / delta[int(np.abs(delta).argmax())]


def agreement(after: Statics, ways: RestSlopes, y: Array) -> float:
    """Return the work that the forces did over a step, divided by the work that their derivatives predicted;
    1 if the prediction is right.

    ways : derivatives of the forces before the step; after : forces after it
    y : (n,) the step, L' times the changes of the free dofs, with the Cholesky factor L of the mass matrix

    If the model is stable in all directions, the same ratio for the decrease of the residual force is
    returned if it is larger, because friction makes the work near the equilibrium an unreliable measure.
    """
    done = 0.5 * y @ (ways.f + solve(ways.L, after.F))
    foreseen = y @ ways.f - 0.5 * y @ ways.stiffness @ y
    work = float(done / foreseen) if foreseen > 0.0 else -1.0
    if not ways.stable:
        return work
    first, left = np.linalg.norm(ways.f), np.linalg.norm(ways.f - ways.stiffness @ y)
    fall = first - np.linalg.norm(solve(ways.L, after.F))
    return max(work, float(fall / (first - left)) if first > left else -1.0)


def next_radius(work: float, radius: float, length: float) -> float:
    """Return the radius of the trust region for the next step of the search.

    work : work of the last step divided by the predicted work; radius : the last radius; length : length of
        the last step
    """
    if work < 0.25:
        return 0.25 * length
    return max(radius, 4.0 * length) if work > 0.5 else radius
