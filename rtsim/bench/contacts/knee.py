"""Benchmark of the forward simulation of a knee with volumetric contact: accuracy of the shipped model's
default run against a tight solution, speed, and response of the leg to five force pulses.

The reference for the default run is SciPy's adaptive solution of the same accelerations, which is itself
compared with rtsim's solution at steps a hundred times shorter. The pulses are compared with the results of
an independent program (free leg, Newton-Euler equations, adaptive steps) for the same model.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import DEPTH, NORMAL
from kernels.rosenbrock.trace import RECORDED, Trace
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.timed_runs import time_runs
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]
Solution = Callable[[Array], Array]

FACTOR, FLEXION_ERROR, PEAK_ERROR = 100.0, 0.1, 0.01
"""Limits of the default run: ratio of real time to computing time; errors of flexion [deg] and of the peak
medial force [1] relative to the reference."""
FINE, FINER = 0.02, 0.01
"""Steps of rtsim's own reference solutions [ms]."""
TOLERANCE = 1e-10
ROWS = [(method, step) for method in ("ros34pw2", "rodas4p", "veldd4") for step in (0.5, 1.0, 2.0)]
AGREEMENT = 0.01
"""Largest relative difference from the results of the independent program for the pulses [1]."""
RIGHT_ANGLE = 0.5 * np.pi
MEDIAL, LATERAL = 0, 1


class Pulse(NamedTuple):
    """A pulse of force on the leg's centre of mass, and the leg's response: time to 90 degrees of flexion,
    peak contact force, and the flexion at which the lateral contact opens.
    """

    force: float  # N
    duration: float  # s
    t90: float  # until 90 deg of flexion [s]
    peak_medial: float  # N
    lift_off: float  # flexion at which the lateral contact first opens [deg]

    @property
    def name(self) -> str:
        return f"{self.force:g}N_{1e3 * self.duration:g}ms"


# the thesis' model as a free leg, by SciPy to 1e-9 (tests/naive/volumetric_knee.py)
PULSES = [
    Pulse(0.0, 0.0, 0.31070548, 267.43, 64.318),
    Pulse(20.0, 0.1, 0.27459082, 263.53, 62.844),
    Pulse(60.0, 0.1, 0.21861287, 238.91, 60.788),
    Pulse(100.0, 0.1, 0.18162001, 208.89, 58.431),
    Pulse(100.0, 0.05, 0.22408866, 253.59, 61.376),
]


def run(n_run: int = 100, rows: list[tuple[str, float]] = ROWS) -> list[BenchFigure]:
    """Return the benchmark results of the knee's default run, of other integration methods and step lengths,
    and of the five pulses.

    n_run : repetitions that are timed; rows : integration methods with their step lengths [ms]
    """
    spec = load_model("knee")
    say("knee: reference")
    found = by_scipy(Simulator(build(spec), spec.simulation))
    fine, finer = whole_run(spec, FINE), whole_run(spec, FINER)
    halved = np.abs(fine.q - finer.q[::2])[:, 0].max()
    by_them = np.abs(found(times(fine, 1e-3 * FINE)) - fine.q)[:, 0].max()
    peak = largest(finer, MEDIAL)
    figures = [
        BenchFigure("reference.halved_step_deg", float(np.degrees(halved)), "deg", 1e-3, "lower"),
        BenchFigure("reference.scipy_deg", float(np.degrees(by_them)), "deg", 1e-3, "lower"),
        *row_figures(spec, "", found, peak, n_run),
    ]
    for method, step_ms in rows:
        say(f"knee: {method}, {step_ms:g} ms")
        settings = msgspec.structs.replace(spec.simulation, method=method, step_ms=step_ms)
        row = msgspec.structs.replace(spec, simulation=settings)
        figures += row_figures(row, f"{method}.{step_ms:g}ms", found, peak, n_run)
    for pulse in PULSES:
        figures += pulse_figures(spec, pulse)
    return figures


def by_scipy(simulator: Simulator) -> Solution:
    """Solve the run of a simulator from its present state by SciPy; return a function that gives the
    coordinates (n, n_q) at times (n,). The solver restarts where a load begins or ends.
    """
    from scipy.integrate import solve_ivp

    loads, trace, n = simulator.simulation.forces.loads, simulator.trace(1), len(simulator.q)
    duration = simulator.settings.duration_s

    def rates(t: float, y: Array) -> Array:
        simulator.q[:], simulator.v[:], trace.counts[:] = y[:n], y[n:], 0
        simulator.run(0, 0, trace, last=True)
        return np.concatenate([y[n:], trace.v_dot[0]])

    edges = {0.0, duration, *(float(t) for t in (*loads.start, *loads.stop) if 0.0 < t < duration)}
    pieces, y = [], np.concatenate([simulator.q, simulator.v])
    for begin, end in pairwise(sorted(edges)):
        # loads act as in a step about the middle of the piece
        simulator.start_time = 0.5 * (begin + end - simulator.options.step)
        piece = solve_ivp(
            rates, (begin, end), y, method="LSODA", dense_output=True,
            rtol=TOLERANCE, atol=1e-2 * TOLERANCE, max_step=1e-3,
        )  # fmt: skip
        y = piece.y[:, -1]
        pieces.append((end, piece.sol))
    return lambda t: np.array([next(sol for end, sol in pieces if x <= end + 1e-12)(x)[:n] for x in t])


def whole_run(spec: ModelSpec, step_ms: float | None = None, q: Array | None = None) -> Trace:
    """Simulate a run of the model and return its trace, one row for every step.

    step_ms : another step length [ms]
    q : another pose, from which the model starts at rest
    """
    settings = spec.simulation
    if step_ms is not None:
        settings = msgspec.structs.replace(settings, step_ms=step_ms)
    simulator = Simulator(build(spec), settings)
    if q is not None:
        simulator.q[:] = q
    n_step = round(settings.duration_s / simulator.options.step)
    trace = simulator.trace(n_step + 1)
    simulator.run(n_step, 1, trace, last=True)
    if trace.counts[RECORDED] <= n_step:
        raise ArithmeticError(
            f"{spec.name}: the simulation with steps of {settings.step_ms:g} ms fails at {simulator.time:g} s"
        )
    return trace


def times(trace: Trace, step: float) -> Array:
    """Return the times of the rows of a simulated run, (n_row,) [s]; step : time between rows [s]"""
    return step * np.arange(float(len(trace.q)))


def row_figures(spec: ModelSpec, name: str, solution: Solution, peak: float, n_run: int) -> list[BenchFigure]:
    """Simulate a run with the integration method and step length in the model, and return its error and
    speed.

    name : end of the results' names; "" = the default run, the only one with limits
    solution : reference, flexion as a function of time; peak : largest medial contact force of the reference
        [N]
    n_run : repetitions that are timed
    """
    trace = whole_run(spec)
    simulator = Simulator(build(spec), spec.simulation)
    step, n_step = simulator.options.step, len(trace.q) - 1
    flexion = np.abs(trace.q - solution(times(trace, step)))[:, 0].max()
    timing = time_runs(simulator, n_step, n_run)
    figures = [
        BenchFigure("real_time_factor", n_step * step / timing.best, "1", FACTOR, "higher"),
        BenchFigure("flexion_error_deg", float(np.degrees(flexion)), "deg", FLEXION_ERROR, "lower"),
        BenchFigure("peak_medial_error", abs(largest(trace, MEDIAL) / peak - 1.0), "1", PEAK_ERROR, "lower"),
        BenchFigure("us_per_step", 1e6 * timing.best / n_step, "us"),
    ]
    if not name:
        return figures
    return [f._replace(name=f"{f.name}.{name}", limit=None, better="") for f in figures]


def largest(trace: Trace, contact: int) -> float:
    """Return the largest normal force of a contact during a run [N]; contact : index of the contact"""
    return float(trace.contact[:, contact, NORMAL].max())


def pulse_figures(spec: ModelSpec, pulse: Pulse) -> list[BenchFigure]:
    """Simulate the knee's response to a force pulse with the default step; return it, the response that the
    independent program found, and the difference of the two.
    """
    found = pulse_run(spec, pulse)
    figures = []
    for figure, unit, value, expected in (
        ("t90_s", "s", found.t90, pulse.t90),
        ("peak_medial_N", "N", found.peak_medial, pulse.peak_medial),
        ("lateral_liftoff_deg", "deg", found.lift_off, pulse.lift_off),
    ):
        name = f"{figure}.{pulse.name}"
        figures += [
            BenchFigure(name, value, unit),
            BenchFigure(f"{name}.independent", expected, unit),
            BenchFigure(f"{name}.difference", abs(value / expected - 1.0), "1", AGREEMENT, "lower"),
        ]
    return figures


def pulse_run(spec: ModelSpec, pulse: Pulse, q: Array | None = None) -> Pulse:
    """Simulate a pulse, from the model's start or from rest at q : (n_q,), and return the pulse with the
    results filled in.
    """
    replace = msgspec.structs.replace
    load = replace(spec.loads[0], force_N=(0.0, -pulse.force, 0.0), duration_s=pulse.duration)
    longer = replace(spec.simulation, duration_s=1.1 * pulse.t90)
    trace = whole_run(replace(spec, loads=(load,), simulation=longer), q=q)
    step = 1e-3 * spec.simulation.step_ms
    bent = first_root(trace.q[:, 0] - RIGHT_ANGLE)
    opened = first_root(-trace.contact[:, LATERAL, DEPTH])
    rows = slice(0, int(bent) + 2)  # the model is meant for up to a right angle
    return pulse._replace(
        t90=step * bent,
        peak_medial=float(trace.contact[rows, MEDIAL, NORMAL].max()),
        lift_off=float(np.degrees(np.interp(opened, np.arange(len(trace.q)), trace.q[:, 0]))),
    )


def first_root(values: Array) -> float:
    """Return the position, as a fractional index, at which values : (n,) first rise through zero, by a
    parabola through three values.
    """
    k = int(np.flatnonzero(values > 0.0)[0])
    before, at, after = values[k - 1 : k + 2]
    bend, slope = 0.5 * (after - 2.0 * at + before), 0.5 * (after - before)
    x = -at / slope
    for _ in range(20):
        x -= (at + x * (slope + x * bend)) / (slope + 2.0 * x * bend)
    return k + float(x)
