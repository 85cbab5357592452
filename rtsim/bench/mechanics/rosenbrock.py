"""Benchmark of Rosenbrock methods: order and error per step, time per step, time of the linear algebra.

Errors are differences at the end of a motion from an adaptive method of SciPy with the same accelerations;
SciPy solves twice, at two tolerances, which shows its own accuracy.

us_per_step.nN is the time of the linear algebra alone of one step with N states. us_per_step.chain and
us_per_step.chain_on_floor are times of whole steps of the method ros34pw2, with the default settings of a
model file (step of 1 ms, secant slopes at kinks). us_per_step.finger_TENDON are those of the shipped finger,
whose three muscles run over five cylinders.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import entry
from kernels.contact.elements import NORMAL
from kernels.joints.kinds import HINGE
from kernels.rosenbrock.stages import factor, new_stage_work, next_stage, stage_solve
from kernels.rosenbrock.tableau import METHODS
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.mechanics.swinging_chains import chain, double_pendulum
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.packing.tree import JointRow, build_tree
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

SIZES = (12, 60)  # numbers of states for which the linear algebra is timed
LIMIT_US = {60: 12.0}
METHOD = "ros34pw2"  # Rosenbrock method for the linear algebra and the chains
N_LINK = 30
CHAIN_STEP_MS = 1.0
TENDONS: tuple[Literal["rigid", "elastic"], ...] = ("rigid", "elastic")
EXCITATION, N_SETTLED = 0.1, 200  # of the muscles of the finger; steps before the first timed one


class KnownMotion(NamedTuple):
    """A test motion for the comparison of integration methods, with its duration and SciPy's method for the
    reference.
    """

    model: ModelSpec
    adaptive: str  # SciPy's method
    duration: float  # s
    n_step: int  # steps of the coarse run; the order follows from its error and that of half steps
    tolerance: float  # by which the measured order may be below the nominal one


PROBLEMS = {
    "smooth": KnownMotion(double_pendulum(stiff=False), "DOP853", 0.2, 80, 0.3),
    "stiff": KnownMotion(double_pendulum(stiff=True), "Radau", 0.3, 60, np.inf),
}


@entry
def repeat_algebra(tree, tableau, h, v, start, rate, work, state, n):
    """Repeat the linear algebra of a Rosenbrock step n times: the LU factorisation and the solves of all
    stages.

    tree : Tree - joint tree of the bodies
    tableau : Tableau - coefficients of the Rosenbrock method
    h : float - step length [s]
    v : (n_v,) - generalized speeds [rad/s, m/s]
    start : (2 n_v,) - theta (motion of the dofs since the start of the step) and v at the start
    rate : (2 n_v,) - theta-dot and v-dot, the same at every stage
    work : StageWork - its matrices are read, its results written
    state : (2 n_v,) - theta and v at the last stage, written
    n : int - number of repetitions

    Returns False if a matrix was singular.
    """
    well, shift = True, 1.0 / (h * tableau.g)
    for _ in range(n):
        well = factor(tree, v, shift, work, None) and well
        for i in range(tableau.m.shape[0]):
            next_stage(tableau, i, 1.0 / h, start, work, state)
            stage_solve(tree, i, shift, v, rate, None, work, None)
    return well


def run(n_batch: int = 200, n_repeat: int = 200, muscled: bool = True) -> list[BenchFigure]:
    """Return the benchmark results of all Rosenbrock methods on a smooth and a stiff pendulum, of the linear
    algebra of a step, and of whole steps of two chains.

    n_batch, n_repeat : timed batches, and steps in each; muscled : whether the finger with its muscles is
        timed, too
    """
    figures = []
    for name, problem in PROBLEMS.items():
        say(f"rosenbrock: {name}, {len(METHODS)} methods")
        figures += figures_of(name, problem, n_batch, n_repeat)
    say(f"rosenbrock: linear algebra of {SIZES} states, chain of {2 * N_LINK} states")
    for n in SIZES:
        us = batch_us(algebra_batch(n // 2), n_batch, n_repeat)
        figures += figures_us(f"us_per_step.n{n}", us, LIMIT_US.get(n))
    for name, floor in (("chain", False), ("chain_on_floor", True)):
        figures += chain_figures(name, floor, n_batch, n_repeat)
    if muscled:
        say("rosenbrock: simulating the finger with muscles")
        for tendon in TENDONS:
            figures += finger_figures(tendon, n_batch, n_repeat)
    return figures


def figures_of(name: str, problem: KnownMotion, n_batch: int, n_repeat: int) -> list[BenchFigure]:
    """Return order, error and time per step of every Rosenbrock method on one test motion."""
    end, rough = (reference(problem, tolerance) for tolerance in (1e-11, 1e-9))
    figures = [
        BenchFigure(f"{name}.step_ms", 1e3 * problem.duration / problem.n_step, "ms"),
        BenchFigure(f"{name}.reference_error", float(np.abs(end - rough).max()), "rad, rad/s"),
    ]
    for method in METHODS.values():
        errors = [
            float(np.abs(ended(problem, method.name, n) - end).max())
            for n in (problem.n_step, 2 * problem.n_step)
        ]
        order, least = float(np.log2(errors[0] / errors[1])), method.order - problem.tolerance
        held = (least, "higher") if np.isfinite(least) else (None, "")
        figures.append(BenchFigure(f"{name}.{method.name}.order", order, "1", *held))
        figures.append(BenchFigure(f"{name}.{method.name}.error", errors[0], "rad, rad/s"))
        some = simulator(problem.model, method.name, 1e3 * problem.duration / problem.n_step)
        us = batch_us(step_batch(some), n_batch, n_repeat)
        figures.append(BenchFigure(f"{name}.{method.name}.us_per_step", float(np.median(us)), "us"))
    return figures


def simulator(spec: ModelSpec, method: str, step_ms: float) -> Simulator:
    """Return a simulator of a model with an integration method and a step length [ms]."""
    settings = msgspec.structs.replace(spec.simulation, method=method, step_ms=step_ms)
    return Simulator(build(spec), settings)


def ended(problem: KnownMotion, method: str, n_step: int) -> Array:
    """Simulate a test motion in n_step steps of one integration method; return coordinates and speeds (2
    n_v,) at its end.
    """
    some = simulator(problem.model, method, 1e3 * problem.duration / n_step)
    some.run(n_step, 0, some.trace(0))
    return np.concatenate([some.q, some.v])


def reference(problem: KnownMotion, tolerance: float) -> Array:
    """Return coordinates and speeds (2 n_v,) at the end of the motion, by SciPy's adaptive method on the same
    accelerations.
    """
    from scipy.integrate import solve_ivp

    some = simulator(problem.model, METHOD, 1.0)
    trace, n = some.trace(1), len(some.v)

    def rate(t: float, y: Array) -> Array:
        some.q[:], some.v[:] = y[:n], y[n:]
        trace.counts[:] = 0
        some.run(0, 0, trace, last=True)
        return np.concatenate([some.v, trace.v_dot[0]])

    start = np.concatenate([some.q, some.v])
    solved = solve_ivp(
        rate, (0.0, problem.duration), start, problem.adaptive, rtol=tolerance, atol=1e-2 * tolerance
    )
    return np.asarray(solved.y[:, -1])


def batch_us(batch: Callable[[int], Any], n_batch: int, n_repeat: int) -> Array:
    """Call a function batch(n), which repeats something n times, n_batch times with n = n_repeat; return the
    time of one repetition in each batch, (n_batch,) [us].
    """
    batch(n_repeat)
    us = np.empty(n_batch)
    for k in range(n_batch):
        start = perf_counter_ns()
        batch(n_repeat)
        us[k] = 1e-3 * (perf_counter_ns() - start) / n_repeat
    return us


def figures_us(name: str, us: Array, limit: float | None = None) -> list[BenchFigure]:
    """Return median and minimum of times us : (n,) [us] as benchmark results; limit : of the median"""
    return [
        BenchFigure(name, float(np.median(us)), "us", limit, "" if limit is None else "lower"),
        BenchFigure(f"{name}.least", float(us.min()), "us"),
    ]


def algebra_batch(n_v: int) -> Callable[[int], None]:
    """Return a function that repeats the linear algebra of a step with n_v speeds: one LU factorisation and
    the solves of all stages.
    """
    rng = np.random.default_rng(n_v)
    root, work = rng.normal(size=(n_v, n_v)), new_stage_work(n_v)
    work.M[:] = root @ root.T + n_v * np.eye(n_v)
    work.tau_q[:], work.tau_v[:] = rng.normal(size=(2, n_v, n_v))
    tree = build_tree([JointRow(k - 1, HINGE) for k in range(n_v)])
    v, start, rate, state = rng.normal(size=n_v), *rng.normal(size=(3, 2 * n_v))
    tableau = METHODS[METHOD].tableau

    def batch(n: int) -> None:
        assert repeat_algebra(tree, tableau, 1e-3, v, start, rate, work, state, n)

    return batch


def step_batch(some: Simulator) -> Callable[[int], None]:
    """Return a function that does n whole steps in one call, always from the present state of the
    simulator.
    """
    trace, q, v = some.trace(0), some.q.copy(), some.v.copy()

    def batch(n: int) -> None:
        some.q[:], some.v[:] = q, v
        some.run(n, 0, trace)

    return batch


def chain_figures(name: str, floor: bool, n_batch: int, n_repeat: int) -> list[BenchFigure]:
    """Return the time of a whole step of a chain [us], and the number of its spheres in contact with the
    floor after a batch.
    """
    some = simulator(chain(N_LINK, floor), METHOD, CHAIN_STEP_MS)
    us = batch_us(step_batch(some), n_batch, n_repeat)
    trace = some.trace(1)
    some.run(0, 0, trace, last=True)
    n_touching = int(np.count_nonzero(trace.contact[0, :, NORMAL]))
    return [*figures_us(f"us_per_step.{name}", us), BenchFigure(f"{name}.n_touching", float(n_touching), "1")]


def finger_figures(tendon: Literal["rigid", "elastic"], n_batch: int, n_repeat: int) -> list[BenchFigure]:
    """Return the time of a whole step of the finger, with rigid or elastic tendons and its muscles excited
    [us].
    """
    spec = load_model("finger")
    muscles = [
        msgspec.structs.replace(
            muscle, excitation=EXCITATION, hill=msgspec.structs.replace(muscle.hill, tendon=tendon)
        )
        for muscle in spec.muscles
        if muscle.hill is not None
    ]
    some = simulator(msgspec.structs.replace(spec, muscles=tuple(muscles)), METHOD, CHAIN_STEP_MS)
    some.run(N_SETTLED, 0, some.trace(0))
    return figures_us(f"us_per_step.finger_{tendon}", batch_us(step_batch(some), n_batch, n_repeat))
