"""Benchmark of two friction experiments, a block on a belt and a bouncing ball, simulated with fixed steps:
error against a tight adaptive solution, and speed.

max_error is the largest error of a velocity at the ends of all steps, from the start on the belt or from
touch-down: the velocity of the block, or the ball's velocity along the floor and its radius times its angular
velocity. Rows are named by experiment, law, method, treatment of kinks and step. A row of the shipped law is
what `rtsim simulate EXPERIMENT --method METHOD --kinks KINKS --step MS` runs. Rows with split steps use the
settings of the model's file (split_fraction, split_floor: printed first); a row with other settings has them
in its name and is `--split FRACTION FLOOR` of the command. They also report the number of parts of the steps,
and the error for steps up to a tenth shorter or longer, since a single step length may be accurate by chance.

The viscous force of the laws of Andersson and Specker jumps where contact begins, and the ball starts at
touch-down. Fixed steps, whose Jacobian is that of the open contact, have an error in proportion to the step.
A split step begins with a part so short that the jump does not matter, and ends a part where a contact
closes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np

from kernels.contact.elements import DEPTH
from kernels.rosenbrock.trace import RECORDED
from rtsim.bench.figures import BenchFigure
from rtsim.bench.mechanics.friction_reference import CHECK, LAWS, RADIUS, TIGHT, Solution, impact, stick_slip
from rtsim.bench.progress import BenchProgress
from rtsim.bench.timed_runs import time_runs
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

QUICK = ("brown_mcphee",)
"""Friction laws of the benchmark with --quick."""
DURATION = {"stick_slip": 10.0, "impact": 8e-3}  # s
NEIGHBOURS = np.linspace(0.9, 1.1, 9)
LEAST_TIME = 0.3
"""Shortest total duration of the timed runs of a row [s]; there are at least five runs."""


class SteppingCase(NamedTuple):
    """One integration method with its step length and its treatment of kinks, the points at which forces are
    not smooth; and the limits of the benchmark for it: largest error, and lowest speed.
    """

    method: str
    step_ms: float
    kinks: str
    max_error: float | None = None  # largest error [m/s]
    factor: float | None = None  # lowest ratio of real time to computing time
    split: tuple[float, float] | None = None  # fraction and floor; None = as in the model's file

    @property
    def name(self) -> str:
        parts = f"_{self.split[0]:g}_{self.split[1]:g}" if self.split else ""
        return f"{self.method}.{self.kinks}{parts}.{1e3 * self.step_ms:g}us"


FIXED = {
    "stick_slip": [SteppingCase("ros34pw2", h, kinks) for h in (0.25, 1.0) for kinks in ("secant", "exact")],
    "impact": [SteppingCase("ros34pw2", h, kinks) for h in (0.02, 0.05) for kinks in ("secant", "exact")],
}
SPLIT = {
    ("stick_slip", "brown_mcphee"): [
        SteppingCase("ros34pw2", 16.0, "split", 1e-4, 3100.0),
        SteppingCase("veldd4", 2.0, "split", 1e-6),
    ],
    ("stick_slip", "andersson"): [
        SteppingCase("ros34pw2", 8.0, "split", 1e-4),
        SteppingCase("veldd4", 1.0, "split", 1e-6),
    ],
    # its slope jumps where sliding begins
    ("stick_slip", "hollars"): [
        SteppingCase("veldd4", 1.0, "split", 1e-4),
        SteppingCase("veldd4", 0.125, "split", 1e-6),
    ],
    ("stick_slip", "specker"): [
        SteppingCase("ros34pw2", 16.0, "split", 1e-4),
        SteppingCase("veldd4", 1.0, "split", 1e-6),
    ],
    ("impact", "brown_mcphee"): [
        SteppingCase("veldd4", 0.4, "split", 3e-5),
        SteppingCase("veldd4", 0.4, "split", 3e-5, 140.0, split=(0.8, 0.5)),
        SteppingCase("veldd4", 0.16, "split", 1e-6, 60.0),
    ],
    **{
        ("impact", law): [
            SteppingCase("veldd4", 0.4, "split", 3e-5),
            SteppingCase("veldd4", 0.16, "split", 1e-6),
        ]
        for law in ("andersson", "hollars", "specker")
    },
}
"""Rows with split steps: a loose and a tight one for each experiment and law. The tight ones of the law of
Brown and McPhee have the settings of the shipped models, with which the error of the ball stays below 1e-6
m/s for all step lengths near the shipped one; the larger parts of the fast row are cheaper, but do not
achieve this.
"""


def run(
    laws: Iterable[str] = LAWS, experiments: Iterable[str] = DURATION, n_run: int = 0
) -> list[BenchFigure]:
    """Return the benchmark results of the experiments with each friction law, by all integration methods and
    step lengths; n_run : timed runs of each, 0 = as many as needed for a steady time
    """
    figures = []
    cases = [(experiment, law) for experiment in experiments for law in laws]
    n_part = sum(1 + len(FIXED[experiment]) + len(SPLIT[experiment, law]) for experiment, law in cases)
    with BenchProgress("friction", n_part) as course:
        for experiment, law in cases:
            if (experiment, law) == next(case for case in cases if case[0] == experiment):
                shipped = load_model(experiment).simulation
                figures.append(BenchFigure(f"split_fraction.{experiment}", shipped.split_fraction, "1"))
                figures.append(BenchFigure(f"split_floor.{experiment}", shipped.split_floor, "1"))
            figures += figures_of(experiment, law, n_run, course)
    return figures


def figures_of(experiment: str, law: str, n_run: int, course: BenchProgress) -> list[BenchFigure]:
    """Return the error of SciPy's reference solution of an experiment with one friction law, and the error,
    speed and cost of every integration method; n_run : timed runs of each, 0 = as many as needed for a
    steady time
    """
    course.begin(f"{experiment}, {law}: SciPy's solution")
    spec, where = with_law(load_model(experiment), law), f"{experiment}.{law}"
    solution, check = reference(experiment, law, TIGHT), reference(experiment, law, CHECK)
    t = np.linspace(0.0, DURATION[experiment], 4001)
    apart = float(np.abs(solution(t) - check(t)).max())
    figures = [BenchFigure(f"reference_error.{where}", apart, "m/s", 1e-8, "lower")]
    if experiment == "impact":
        figures.append(BenchFigure(f"contact_ms.{where}", 1e3 * contact_time(spec), "ms"))
        figures.append(BenchFigure(f"contact_ms.reference.{law}", 1e3 * impact(law, 8e-3, TIGHT)[1], "ms"))
    for row in FIXED[experiment] + SPLIT[experiment, law]:
        course.begin(f"{experiment}, {law}: {row.name}")
        figures += row_figures(spec, experiment, f"{where}.{row.name}", row, solution, n_run)
    return figures


def row_figures(
    spec: ModelSpec, experiment: str, name: str, row: SteppingCase, solution: Solution, n_run: int
) -> list[BenchFigure]:
    """Return the error, the speed and the cost of one integration method in an experiment.

    spec : model with the friction law; name : end of the results' names
    row : method, step length and limit of the error; solution : reference solution; n_run : timed runs, 0 =
        as many as needed for a steady time
    """
    model = build(spec)
    fraction, floor = row.split or (spec.simulation.split_fraction, spec.simulation.split_floor)
    settings = msgspec.structs.replace(
        spec.simulation, method=row.method, step_ms=row.step_ms, kinks=row.kinks,
        split_fraction=fraction, split_floor=floor,
    )  # fmt: skip

    def simulator(part: float = 1.0) -> Simulator:
        return Simulator(model, msgspec.structs.replace(settings, step_ms=part * row.step_ms))

    n_step = whole_steps(experiment, simulator())
    first = time_runs(simulator(), n_step, 1)
    timing = time_runs(simulator(), n_step, n_run or max(5, int(LEAST_TIME / first.best)))
    factor = n_step * 1e-3 * row.step_ms / timing.best
    better = "lower" if row.max_error else ""
    found = error(experiment, simulator(), solution)
    figures = [
        BenchFigure(f"max_error.{name}", found, "m/s", row.max_error, better),
        BenchFigure(f"real_time_factor.{name}", factor, "1", row.factor, "higher" if row.factor else ""),
        BenchFigure(f"us_per_step.{name}", 1e6 * timing.best / n_step, "us"),
    ]
    if row.kinks == "split":
        worst = max(error(experiment, simulator(part), solution) for part in NEIGHBOURS)
        figures += [
            BenchFigure(f"parts.{name}", float(timing.n_part), "1"),
            BenchFigure(f"max_error_of_near_steps.{name}", worst, "m/s", row.max_error, better),
        ]
    return figures


def with_law(spec: ModelSpec, law: str) -> ModelSpec:
    """Return the model of an experiment with another friction law."""

    replace = msgspec.structs.replace
    return replace(
        spec,
        contacts=tuple(
            replace(x, friction=replace(x.friction, law=law)) for x in spec.contacts if x.friction
        ),
        frictions=tuple(replace(x, friction=replace(x.friction, law=law)) for x in spec.frictions),
    )


def reference(experiment: str, law: str, tolerance: float) -> Solution:
    """Return SciPy's solution of an experiment with a friction law, as a function of time; tolerance :
    relative tolerance of the solver
    """
    duration = DURATION[experiment]
    if experiment == "impact":
        return impact(law, duration, tolerance)[0]
    return stick_slip(law, duration, tolerance)


def whole_steps(experiment: str, simulator: Simulator) -> int:
    """Return the number of whole steps in the duration of the experiment."""
    return int(DURATION[experiment] / simulator.options.step + 1e-9)


def error(experiment: str, simulator: Simulator, solution: Solution) -> float:
    """Return the largest difference of velocities from the reference at the ends of all steps [m/s];
    infinite where a step fails.
    """
    n_step = whole_steps(experiment, simulator)
    trace = simulator.trace(n_step + 1)
    simulator.run(n_step, 1, trace, last=True)
    if trace.counts[RECORDED] <= n_step:
        return float("inf")
    t = simulator.options.step * np.arange(n_step + 1, dtype=np.float64)
    found = np.array([trace.v[:, 0], RADIUS * trace.v[:, 2]]) if experiment == "impact" else trace.v.T
    return float(np.abs(found - solution(t)).max())


def contact_time(spec: ModelSpec) -> float:
    """Simulate the bounce of the ball and return the duration of its contact with the floor [s], interpolated
    between steps by the penetration depth.
    """
    settings = msgspec.structs.replace(spec.simulation, method="ros34pw2", step_ms=0.02, kinks="secant")
    simulator = Simulator(build(spec), settings)
    n_step = whole_steps("impact", simulator)
    trace = simulator.trace(n_step + 1)
    simulator.run(n_step, 1, trace, last=True)
    depth = trace.contact[:, 0, DEPTH]
    k = int(np.flatnonzero(depth > 0.0)[-1])
    return simulator.options.step * (k + float(depth[k] / (depth[k] - depth[k + 1])))
