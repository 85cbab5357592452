"""Benchmark of automatic tuning: how close each search comes to the best setting, with few trials.

The searches `bayesian`, `cma` and `preference` tune two parameters of the shipped run `ankle`
(tuning.parameters and tuning.costs of configs/hil/ankle.toml). Each parameter has discrete steps, the nodes
of a grid. All nodes are simulated once, and a trial looks up the result of its node, so that nothing is
interpolated. `spline_bayesian` and `spline_cma` tune the four parameters of a torque spline that replaces the
controller, with the same cost. Each of their trials is a simulation of its own. Their grid is coarse, so
their regret is measured from the least cost of all runs, not of the grid alone.

regret_percent is the noise-free cost of the setting that a search ends with, above the least cost, in % of
the range of costs in the grid; it is the median over the seeds, and `.worst` the largest. In the case `clean`
costs are as simulated. In the case `noisy` they are multiplied by 1 + 0.15 N(0, 1) and by a drift that adds
20 % from the first trial to the last; preferences are derived from such costs. A comparison counts as two
evaluations.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import counted
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.controller import Seen
from rtsim.device.torque_spline import torque
from rtsim.errors import ModelError
from rtsim.live.hardware.device_loop import DeviceClock
from rtsim.live.loop import Loop
from rtsim.tuning.bayesian import Bayesian
from rtsim.tuning.cma import Cma
from rtsim.tuning.offline import OfflineRuns, Pool, RunRequest
from rtsim.tuning.preference import Preference
from rtsim.tuning.problem import Parameters, parameters_of
from rtsim.tuning.search import TuningSearch

Array = NDArray[np.float64]

CONFIG = "ankle"
NODES, SPLINE_NODES = 31, 6
"""Nodes of the grids along each parameter, and of a spline's grids."""
BUDGET, SPLINE_BUDGET = 96, 120
"""Evaluations of a search: at most a tenth of the nodes of the fine grid, and of that of the spline."""
SEEDS, SPLINE_SEEDS = 20, 3
QUICK = {"n_seed": 2, "n_spline_seed": 0, "n_node": 11, "budget": 24}
"""Arguments of a quick benchmark, whose searches try too few settings for the limits to apply."""
NOISE, DRIFT = 0.15, 0.2
CLEAN_PERCENT, NOISY_PERCENT, SHARE_PERCENT = 2.0, 10.0, 10.0
STRIDE_HZ = 0.8
"""Stride frequency of the knee's motion, whose phase drives the spline [Hz]."""
SPLINE = Parameters(
    ("peak_Nm", "peak_time", "rise_time", "fall_time"),
    np.array([0.0, 0.1, 0.1, 0.1]),
    np.array([20.0, 0.6, 0.5, 0.5]),
)
"""Parameters of the spline with their ranges, chosen here. The peak torque opposes dorsiflexion; the knee is
furthest forward at a phase of 0.25."""
SEARCHES: dict[str, Callable[[int, int], TuningSearch]] = {
    "bayesian": Bayesian,
    "cma": Cma,
    "preference": Preference,
}
OF_SPLINE = ("bayesian", "cma")


class SearchCase(NamedTuple):
    """One search for the best setting: its method, seed of its random numbers, whether costs are noisy, and
    number of evaluations (budget); table : costs of all nodes of a grid that trials look up, None = each
    trial is simulated
    """

    method: str
    seed: int
    noisy: bool
    budget: int
    table: Array | None = None


class Ended(NamedTuple):
    """Result of a search: the noise-free cost of the setting (values of all tuned parameters) that it returns
    as the best, the least noise-free cost of all settings it tried, and the number of tried settings.
    """

    best: float
    least: float
    n_tried: int


def run(
    n_seed: int = SEEDS, n_spline_seed: int = SPLINE_SEEDS, n_node: int = NODES, budget: int = BUDGET
) -> list[BenchFigure]:
    """Run all searches with this many seeds and return the benchmark results; n_spline_seed = 0 leaves the
    torque spline out. n_node : nodes of the fine grid along each parameter; budget : evaluations of a search
    on this grid.
    """
    spec = load_toml(find_config(CONFIG, "hil"), HilSpec)
    n_process = os.cpu_count() or 1
    with Pool(spec, 0, n_process) as pool:
        table = grid_of(pool, parameters_of(spec), n_node, f"tune: {n_node} x {n_node} settings of {CONFIG}")
        figures = grid_figures("grid", table)
        for method in SEARCHES:
            cases = cases_of(method, n_seed, budget, table)
            told = f"tune: {method}, searches of {budget} trials"
            ended = list(counted(told, pool.each(searched, cases), len(cases)))
            figures += search_figures(method, cases, ended, table)
    if n_spline_seed == 0:
        return figures
    with Pool(spec, 0, n_process, by_spline) as pool:
        table = grid_of(pool, SPLINE, SPLINE_NODES, f"tune: {SPLINE_NODES}^4 splines")
        figures += grid_figures("spline_grid", table)
        done: dict[str, tuple[list[SearchCase], list[Ended]]] = {}
        for method in OF_SPLINE:
            cases = cases_of(method, n_spline_seed, SPLINE_BUDGET, None)
            told = f"tune: spline by {method}, searches of {SPLINE_BUDGET} simulations"
            done[method] = cases, list(counted(told, pool.each(searched, cases), len(cases)))
        least = min(
            [float(table.min()), *(ended.least for _, all_ended in done.values() for ended in all_ended)]
        )
        for method, (cases, all_ended) in done.items():
            figures += search_figures(f"spline_{method}", cases, all_ended, table, least)
    return figures


def quick() -> list[BenchFigure]:
    """Run a part of the searches, which takes little time, and return their benchmark results, without
    limits.
    """
    return [figure._replace(limit=None, better="") for figure in run(**QUICK)]


def by_spline(loop: Loop, setting: Mapping[str, float]) -> str:
    """Replace the controller in a loop with a device by the torque spline with these settings, driven by the
    known phase of the knee's motion; return "", as no setting is refused.
    """
    clock = loop.source
    assert isinstance(clock, DeviceClock)
    x = clock.exchange

    x.law = OfKnownPhase(x.period_s, setting)
    return ""


class OfKnownPhase:
    """The control law of the torque spline for a known phase; setting : the four parameters of the spline."""

    def __init__(self, period_s: float, setting: Mapping[str, float]) -> None:
        self._period_s, self._setting = period_s, setting

    def torque(self, values: Mapping[str, float], seen: Seen) -> float:
        """Return the torque of the spline at the phase of this tick [N m]."""
        return -torque(STRIDE_HZ * seen.tick * self._period_s, **self._setting)


def cases_of(method: str, n_seed: int, budget: int, table: Array | None) -> list[SearchCase]:
    """Return the searches by one method for each seed, without noise and with noise.

    budget : evaluations of a search; table : costs of all nodes of a grid, None = each trial is simulated
    """
    return [
        SearchCase(method, seed, noisy, budget, table) for noisy in (False, True) for seed in range(n_seed)
    ]


def grid_of(pool: Pool, parameters: Parameters, n_node: int, told: str) -> Array:
    """Simulate all nodes of a grid with n_node values of each parameter, and return their costs, (n_node,
    ...) with an axis for each parameter.

    pool : processes that simulate; told : name of the grid in the progress display
    """
    n = len(parameters.names)
    line = np.linspace(0.0, 1.0, n_node)
    nodes = [np.array(node) for node in product(line, repeat=n)]
    costs = []
    for cost in counted(told, pool.costs([RunRequest(parameters.setting(x)) for x in nodes]), len(nodes)):
        if cost.why:
            raise ModelError(cost.why, where="bench tune")
        costs.append(cost.value)
    return np.array(costs).reshape((n_node,) * n)


def searched(runs: OfflineRuns, case: SearchCase) -> Ended:
    """Run one search for the best setting until its evaluations are used up, and return its result; runs :
    simulates the settings if the case has no grid
    """
    n = len(SPLINE.names) if case.table is None else case.table.ndim
    search = SEARCHES[case.method](n, case.seed)
    rng = np.random.default_rng([case.seed, 1])
    least, n_tried = math.inf, 0
    while n_tried < case.budget:
        points = nearest(search.ask(), case.table)
        costs = np.array([cost_at(runs, point, case.table) for point in points])
        least = min(least, float(costs.min()))
        drifted = 1.0 + DRIFT * (n_tried + np.arange(len(points))) / (case.budget - 1)
        told = costs * drifted * (1.0 + NOISE * rng.standard_normal(len(points))) if case.noisy else costs
        search.tell(points, told)
        n_tried += len(points)
    best = cost_at(runs, nearest(search.best()[None, :], case.table)[0], case.table)
    return Ended(best, min(least, best), n_tried)


def nearest(points: Array, table: Array | None) -> Array:
    """Return the points (n_point, n) of the unit cube moved to the nearest nodes of the grid of costs
    `table`; without a grid, unchanged.
    """
    if table is None:
        return points
    return np.round(points * (len(table) - 1)) / (len(table) - 1)


def cost_at(runs: OfflineRuns, point: Array, table: Array | None) -> float:
    """Return the noise-free cost of the setting at a point (n,) of the unit cube (each parameter between its
    bounds): the cost of its node in the grid `table`, or without a grid the cost of a simulation with this
    setting.
    """
    if table is not None:
        return float(table[tuple(np.round(point * (len(table) - 1)).astype(int))])
    cost = runs.cost(RunRequest(SPLINE.setting(point)))
    if cost.why:
        raise ModelError(cost.why, where=f"bench tune: {SPLINE.words(SPLINE.setting(point))}")
    return cost.value


def grid_figures(name: str, table: Array) -> list[BenchFigure]:
    """Return as benchmark results the size of a grid, its least cost and range of costs, and the position of
    its best node as a fraction of each parameter's range.
    """
    best = np.unravel_index(int(table.argmin()), table.shape)
    return [
        BenchFigure(f"{name}.runs", float(table.size), "1"),
        BenchFigure(f"{name}.least", float(table.min()), "cost"),
        BenchFigure(f"{name}.range", float(np.ptp(table)), "cost"),
        *(
            BenchFigure(f"{name}.best.{k}", float(index) / (len(table) - 1), "of the range")
            for k, index in enumerate(best)
        ),
    ]


def search_figures(
    name: str,
    cases: Sequence[SearchCase],
    all_ended: Sequence[Ended],
    table: Array,
    least: float | None = None,
) -> list[BenchFigure]:
    """Return how far the searches by one method end from the best cost (regret): cost reached minus `least`,
    in % of the range of costs in the grid.

    cases, all_ended : the searches and their results; table : costs of the grid's nodes
    least : the best cost known, None = that of the grid's best node
    """
    share = 100.0 * max(ended.n_tried for ended in all_ended) / table.size
    figures = [
        BenchFigure(f"evaluations_share.{name}", share, "% of the grid's evaluations", SHARE_PERCENT, "lower")
    ]
    low = float(table.min()) if least is None else least
    for noisy, word, limit in ((False, "clean", CLEAN_PERCENT), (True, "noisy", NOISY_PERCENT)):
        regrets = np.array(
            [
                100.0 * (ended.best - low) / float(np.ptp(table))
                for case, ended in zip(cases, all_ended, strict=True)
                if case.noisy == noisy
            ]
        )
        figures += [
            BenchFigure(f"regret_percent.{name}.{word}", float(np.median(regrets)), "%", limit, "lower"),
            BenchFigure(f"regret_percent.{name}.{word}.worst", float(regrets.max()), "%"),
        ]
    return figures
