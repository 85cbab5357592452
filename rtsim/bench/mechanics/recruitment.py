"""Benchmark of muscle recruitment in one frame beside daqp, a solver of quadratic programs: random muscles
and coordinates, by every criterion.

Instances have random moment arms (standard deviation 30 mm), strengths of 200 to 3000 N, and a demand (joint
moments) that random activations from a beta distribution produce, or three times that demand. Both solvers
are called from Python. The cubic criterion is solved by daqp as a sequence of quadratic programs, until steps
are below 1e-7.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.recruitment.problem import OPTIMAL, VIOLATED, Recruitment, RecruitmentOptions, new_recruitment
from kernels.recruitment.recruit import recruit
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.mechanics.recruitment_frames import KINDS, try_frames
from rtsim.errors import RtsimError
from rtsim.methods.muscles.recruitment import GAP, N_ITERATION, RESIDUAL

Array = NDArray[np.float64]

SIZES = ((24, 6), (44, 12), (92, 20))
CRITERIA = {"quadratic": 2, "cubic": 3, "minmax": 0}
LIMITS = {"quadratic": 1.0, "cubic": 3.0}
N_INSTANCE, N_CALL = 20, 50
POWERS, N_FRAME = range(2, 11), 2000
OVERLOAD, SWAY = 3.0, 0.01
N_PROGRAM, LEAST_SLOPE, STEP = 30, 1e-3, 1e-7
"""Settings of the sequence of programs for daqp: their largest number, the smallest activation for which the
cubic criterion has curvature, and the step below which it ends."""


class RecruitmentFigures(NamedTuple):
    """Times of a frame of recruitment and their quality over all instances: median times without and with the
    previous solution as a start (us, warm_us), largest duality gap, largest residual of the equilibrium,
    and most iterations.
    """

    us: float
    warm_us: float
    gap: float
    residual: float
    iterations: int


def run(n_call: int = N_CALL) -> list[BenchFigure]:
    """Return the benchmark results of muscle recruitment for all problem sizes and criteria; n_call : timed
    calls of each problem
    """
    figures = []
    gc.collect()
    gc.disable()
    try:
        for n, m in SIZES:
            size = f"{n}x{m}"
            instances = [instance(n, m, seed) for seed in range(N_INSTANCE)]
            for what, power in CRITERIA.items():
                say(f"recruitment: {what} {size}")
                found = ours(instances, power, n_call)
                figures += [
                    BenchFigure(f"us.{what}_{size}", found.us, "us"),
                    BenchFigure(f"warm_us.{what}_{size}", found.warm_us, "us"),
                    BenchFigure(f"gap.{what}_{size}", found.gap, "1", 1e-8, "lower"),
                    BenchFigure(f"residual.{what}_{size}", found.residual, "1", 1e-10, "lower"),
                    BenchFigure(f"iterations.{what}_{size}", float(found.iterations), "1"),
                ]
                if what in LIMITS:
                    peer_us = theirs(instances, power, n_call)
                    if peer_us is not None:
                        ratio = peer_us / found.us
                        figures += [
                            BenchFigure(f"daqp_us.{what}_{size}", peer_us, "us"),
                            BenchFigure(f"ratio.{what}_{size}", ratio, "1", LIMITS[what], "higher"),
                        ]
            say(f"recruitment: infeasible {size}")
            figures.append(BenchFigure(f"us.infeasible_{size}", overloaded(instances, n_call), "us"))
    finally:
        gc.enable()
    return figures + kept()


def kept() -> list[BenchFigure]:
    """Return benchmark results on random recruitment problems that all have a solution: how many remain
    unsolved, how many are reported as overloaded, and the largest number of iterations, by kind of problem
    and power of the criterion.
    """
    figures = []
    for kind in KINDS:
        for power in POWERS:
            say(f"recruitment: {kind} frames, power {power}")
            tried = try_frames(kind, power, N_FRAME)
            figures += [
                BenchFigure(f"lost.{kind}_p{power}", float(tried.lost), "1", 0.0, "lower"),
                BenchFigure(f"not_borne.{kind}_p{power}", float(tried.not_borne), "1", 0.0, "lower"),
                BenchFigure(f"most_iterations.{kind}_p{power}", float(tried.most), "1"),
            ]
    return figures


def instance(n: int, m: int, seed: int) -> tuple[Array, Array]:
    """Draw a problem at random: C : (m, n), the joint moments of n muscles at full activation, and d : (m,),
    the moments that are demanded, both divided by the largest entry of C.
    """
    rng = np.random.default_rng(100 * n + seed)
    strength = rng.uniform(200.0, 3000.0, n)
    C = 0.03 * rng.standard_normal((m, n)) * strength
    d = C @ rng.beta(0.6, 1.5, n)
    return C / np.abs(C).max(), d / np.abs(C).max()


def solver(C: Array, d: Array, power: int) -> tuple[Callable[..., int], Recruitment, Any]:
    """Prepare the recruitment of muscles with moments C : (m, n) at full activation for demanded moments d :
    (m,). Return three things: a function call(warm) that solves the problem and returns the status; the
    problem; and the result with the number of iterations, which each call writes.

    power : exponent of the activations in the criterion, 0 = the largest activation; warm : whether the
        previous solution is the start
    """
    m, n = C.shape
    arguments = new_recruitment(
        np.ones(n), np.ones(n), m, RecruitmentOptions(power, N_ITERATION, RESIDUAL, GAP)
    )
    problem, _, state, _, out = arguments
    problem.action[:], problem.demand[:] = C.T, d
    kernel = bind(recruit, arguments)
    n_iteration = [0]

    def call(warm: bool, swayed: tuple[Array, Array] | None = None, k: int = 0) -> int:
        if not warm:
            state.started[0] = 0
        if swayed is not None:
            np.multiply(swayed[1], 1.0 - SWAY * (k % 2), out=swayed[0])
        status, n_iteration[0] = kernel(*arguments)
        return int(status)

    return call, problem, (out, n_iteration)


def ours(instances: list[tuple[Array, Array]], power: int, n_call: int) -> RecruitmentFigures:
    """Time rtsim's solver on every instance: from the middle of the bounds (cold), and from the previous
    solution after the demand has changed by one percent (warm).

    instances : moments at full activation and demanded moments of each; power : exponent of the activations
        in the criterion, 0 = the largest activation; n_call : calls of each instance
    """
    cold, warm, gap, residual, most = [], [], 0.0, 0.0, 0
    for C, d in instances:
        call, problem, (out, n_iteration) = solver(C, d, power)
        cold.append(timed(partial(call, False), n_call))
        if call(False) != OPTIMAL:
            raise RtsimError("bench recruitment: a problem that has a solution was not solved")
        gap, residual = max(gap, float(out.gap[0])), max(residual, float(out.residual[0]))
        most = max(most, n_iteration[0])

        warm.append(timed(partial(call, True, (problem.demand, d)), n_call))
    return RecruitmentFigures(float(np.median(cold)), float(np.median(warm)), gap, residual, most)


def overloaded(instances: list[tuple[Array, Array]], n_call: int) -> float:
    """Return the median time of the instances with three times their demand, where this exceeds the muscles'
    strength, with the cubic criterion [us].
    """
    us = []
    for C, d in instances:
        call, _, _ = solver(C, OVERLOAD * d, 3)
        if call(False) == VIOLATED:
            us.append(timed(partial(call, False), n_call))
    return float(np.median(us))


def theirs(instances: list[tuple[Array, Array]], power: int, n_call: int) -> float | None:
    """Return the median time of daqp on the same instances [us]; None where it is not installed; power :
    exponent of the activations in the criterion, 2 or 3
    """
    try:
        import daqp
    except ModuleNotFoundError:
        return None
    us = []
    for C, d in instances:
        m, n = C.shape
        high, low = np.r_[np.ones(n), d], np.r_[np.zeros(n), d]
        kinds = np.r_[np.zeros(n), np.full(m, 5)].astype(np.int32)

        def quadratic(k: int, C: Array = C, high: Array = high, low: Array = low, kinds: Any = kinds) -> Any:
            n = C.shape[1]
            return daqp.solve(2.0 * np.eye(n), np.zeros(n), C, high, low, kinds)[0]

        def cubic(k: int, C: Array = C, high: Array = high, low: Array = low, kinds: Any = kinds) -> Any:
            x = np.full(C.shape[1], 0.3)
            for _ in range(N_PROGRAM):
                bend = 6.0 * np.maximum(x, LEAST_SLOPE)
                new = daqp.solve(np.diag(bend), 3.0 * x * x - bend * x, C, high, low, kinds)[0]
                step, x = np.abs(new - x).max(), np.clip(new, 0.0, 1.0)
                if step < STEP:
                    break
            return x

        us.append(timed(quadratic if power == 2 else cubic, max(5, n_call // 5)))
    return float(np.median(us))


def timed(call: Callable[..., object], n_call: int) -> float:
    """Return the median duration of a call [us]; two calls before are not counted."""
    us = []
    for k in range(n_call + 2):
        start = perf_counter_ns()
        call(k=k)
        us.append(1e-3 * (perf_counter_ns() - start))
    return float(np.median(us[2:]))
