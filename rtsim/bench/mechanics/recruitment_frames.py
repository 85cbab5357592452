"""Random frames that muscle recruitment must solve: with many feasible activations, with solutions next to a
bound, with nearly dependent equations.

The models resemble those of persons: each muscle crosses one to three coordinates, and some coordinates have
unbounded reserve actuators of 10 N m. All of these frames have a solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.recruitment.problem import NOT_CONVERGED, VIOLATED, RecruitmentOptions, new_recruitment
from kernels.recruitment.recruit import recruit
from rtsim.methods.muscles.recruitment import GAP, N_ITERATION, RESIDUAL

Array = NDArray[np.float64]

N_MUSCLE, N_ROW, N_RESERVE = 40, 10, 4
RESERVE = 10.0
BORNE = 1e-7
"""Violation of the equilibrium, relative to the largest demand, below which no frame may be reported as
overloaded."""
KINDS = ("wide", "small", "bound", "repeated")


class Tried(NamedTuple):
    """Counts of random frames by how their recruitment ended (not solved, reported as overloaded, or solved
    without proof of optimality), and counts of iterations.
    """

    lost: int  # frames without a solution
    not_borne: int  # frames reported as overloaded
    least: float  # smallest violation among these, relative to the largest demand; inf = no such frame
    unproved: int  # solved frames whose duality gap is larger than requested
    iterations: int  # of all frames together
    most: int  # largest number of iterations of a frame


def frames(kind: str, n_frame: int, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield the matrix C : (N_ROW, n_element), joint moments of muscles and reserve actuators at full
    activation [N m], and the demanded moments d : (N_ROW,) [N m] of random frames of a kind.

    Kinds are "wide": activations of 0.1 to 0.9 are a solution; "small": activations of 0.001 to 0.1 are;
    "bound": in all solutions the activations are within 1e-9 to 1e-4 of 0 or 1; "repeated": as wide, but the
    last row of C is a multiple of the first one, except for differences of 1e-6.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n = N_MUSCLE + 2 * N_RESERVE
    for _ in range(n_frame):
        C, x = np.zeros((N_ROW, n)), np.zeros(n)
        C[:, :N_MUSCLE] = 0.03 * rng.standard_normal((N_ROW, N_MUSCLE)) * rng.uniform(200.0, 3000.0, N_MUSCLE)
        places = rng.random((N_ROW, N_MUSCLE)).argsort(axis=0)
        C[:, :N_MUSCLE][places >= rng.integers(1, 4, N_MUSCLE)] = 0.0
        if kind == "bound":
            direction = rng.standard_normal(N_ROW)
            full = (direction @ C[:, :N_MUSCLE] > 0.0).astype(float)
            x[:N_MUSCLE] = full + 10.0 ** rng.uniform(-9.0, -4.0) * (0.5 - full)
        else:
            for r in range(N_RESERVE):
                C[r, N_MUSCLE + 2 * r], C[r, N_MUSCLE + 2 * r + 1] = RESERVE, -RESERVE
            size = 10.0 ** rng.uniform(-2.0, -1.0) if kind == "small" else 1.0
            x[:N_MUSCLE] = size * rng.uniform(0.1, 0.9, N_MUSCLE)
        if kind == "repeated":
            C[-1] = rng.uniform(0.5, 2.0) * C[0] + 1e-6 * np.abs(C[0]).max() * rng.standard_normal(n)
        yield C, C @ x


def try_frames(kind: str, power: int, n_frame: int, seed: int = 0) -> Tried:
    """Solve n_frame random frames of a kind, each from the middle of the bounds, and count the failures;
    power : exponent of the activations in the criterion
    """
    most = np.concatenate([np.ones(N_MUSCLE), np.full(2 * N_RESERVE, np.inf)])
    options = RecruitmentOptions(power, N_ITERATION, RESIDUAL, GAP)
    arguments = new_recruitment(np.ones(len(most)), most, N_ROW, options)
    problem, _, state, _, out = arguments
    lost, not_borne, least, unproved, total, longest = 0, 0, np.inf, 0, 0, 0
    for C, d in frames(kind, n_frame, seed):
        problem.action[:], problem.demand[:] = C.T, d
        state.started[0] = 0
        status, n = recruit(*arguments)
        total, longest = total + n, max(longest, n)
        if status == NOT_CONVERGED:
            lost += 1
        elif status == VIOLATED:
            not_borne += 1
            least = min(least, float(np.abs(out.violation).max() / np.abs(d).max()))
        elif not out.gap[0] <= GAP:
            unproved += 1
    return Tried(
        lost=lost, not_borne=not_borne, least=least, unproved=unproved, iterations=total, most=longest
    )
