"""Benchmark of the force-dependent kinematics (FDK) of the shipped mandible in three tasks, frame by frame
as in a live run.

The markers of the synthetic jaw are filtered as in a run. Then each frame is timed: pose, rates, load,
recruitment of 24 muscles and contacts, until the residual force along the three FDK degrees of freedom is
zero. Condyles and fossae are surfaces of 5194 and 20 808 triangles on each side, read from files as a user's
surfaces are. The same is timed with the shipped ellipsoids for comparison.
"""

from __future__ import annotations

import gc
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns, thread_time_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.fdk.problem import BALANCED, NOT_BORNE
from kernels.mesh.meshes import ALONG, BEND, VERTEX
from kernels.rates.manifold import OK, plain
from rtsim.bench.contacts import jaw_cartilage
from rtsim.bench.figures import BenchFigure, say
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.errors import RtsimError
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.methods.kinematics.rates import RateEstimator
from rtsim.models.jaw.jaw_surfaces import of_formulas
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.subjects.made_up.jaw import TASKS, move_jaw

Array = NDArray[np.float64]

MODEL, METHOD = "mandible", "pop"
DOFS = ("right_normal", "left_normal", "midline")
EVERY, OFTEN, FINEST, OF_TRIANGLES = 50, 10, 2e-6, 1e-9
"""Frames from one comparison of Jacobians to the next in `compared` and in `switched_figures`; steps of the
differences [m]: for smooth surfaces, and for meshes, so short that the closest triangle rarely changes."""
FINE_MM = 1e-3
"""Step of differences on a rough surface [mm]; the paper's step of 0.05 mm would cross many triangles."""
P50_MS, P99_MS, LOST_PERCENT, SLOPES, SAME_M = 5.0, 10.0, 0.1, 1e-6, 1e-7


class TaskMarkers(NamedTuple):
    """Filtered markers of the synthetic jaw in one task (chewing, protrusion or opening).

    position, velocity, acceleration : (n, n_marker, 3) - in ground [m, m/s, m/s^2]
    """

    position: Array  # (n, n_marker, 3)
    velocity: Array
    acceleration: Array


def run(seconds: float = 10.0, folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of all tasks, with triangle meshes and with ellipsoids, and with real
    cartilage surfaces if their folder has them.

    seconds : duration of the synthetic motion of each task [s]; folder : folder of the cartilage surfaces,
        None = the usual one
    """
    motions = {task: filtered(task, seconds) for task in TASKS}
    smooth = load_model(MODEL)
    with TemporaryDirectory() as made:
        triangles = of_formulas(smooth, Path(made))
        found = [*figures_of("", triangles, motions), *figures_of("ellipsoids.", smooth, motions)]
        cartilage = folder or jaw_cartilage.FOLDER
        if jaw_cartilage.there(cartilage):
            found += cartilage_figures(jaw_cartilage.of_cartilage(smooth, cartilage, Path(made)), motions)
        return found


def figures_of(prefix: str, spec: ModelSpec, motions: dict[str, TaskMarkers]) -> list[BenchFigure]:
    """Time the search for the FDK equilibrium in all tasks with one geometry of the mandible, compare the
    analytic Jacobian with finite differences, and return the benchmark results.

    prefix : beginning of their names; spec : the mandible, with triangle meshes or with ellipsoids
    motions : the filtered markers of each task
    """
    say(f"fdk: compiling the kernels for contact of {prefix.rstrip('.') or 'triangle meshes'}")
    jaw = mandible(spec, tolerance_N=0.1)
    pressed = jaw.model.forces.contacts.meshes is not None
    by_task = {}
    for task, motion in motions.items():
        say(f"fdk: {prefix}{task}")
        by_task[task] = timed(jaw, motion)
    say(f"fdk: {prefix}slopes")
    slopes, apart, ended = compared(spec, motions["chewing"])
    kept: tuple[Any, ...] = () if pressed else (SLOPES, "lower")  # slopes of triangles leap now and then
    found = [
        *timing_figures(by_task),
        BenchFigure("jacobian_difference.least", min(slopes), "1", SLOPES, "lower"),
        BenchFigure("jacobian_difference.median", float(np.median(slopes)), "1", *kept),
        BenchFigure("jacobian_difference.most", max(slopes), "1", *kept),
        *(switched_figures(spec, motions["chewing"]) if pressed else ()),
        BenchFigure("alpha_difference", max(apart), "m", SAME_M, "lower"),
        BenchFigure("to_a_micronewton_percent", 100.0 * ended, "%"),
    ]
    return [figure._replace(name=prefix + figure.name) for figure in found]


def timing_figures(by_task: dict[str, TimedFrames]) -> list[BenchFigure]:
    """Return the benchmark results of all tasks: time and number of Newton steps of a frame, and the number
    of frames without an equilibrium.
    """
    every = [ms for timing in by_task.values() for ms in timing.ms]
    busy = [ms for timing in by_task.values() for ms in timing.busy_ms]
    steps = [n for timing in by_task.values() for n in timing.steps]
    lost, partly = (sum(getattr(timing, name) for timing in by_task.values()) for name in ("lost", "partly"))
    return [
        BenchFigure("frame_ms.p50", percentile(every, 50), "ms", P50_MS, "lower"),
        BenchFigure("frame_ms.p99", percentile(every, 99), "ms", P99_MS, "lower"),
        BenchFigure("processor_ms.p50", percentile(busy, 50), "ms"),
        BenchFigure("processor_ms.p99", percentile(busy, 99), "ms"),
        *(BenchFigure(f"frame_ms.{task}.p99", percentile(t.ms, 99), "ms") for task, t in by_task.items()),
        BenchFigure("newton_iterations", float(np.mean(steps)), "1"),
        BenchFigure("newton_iterations.most", float(max(steps)), "1"),
        BenchFigure("not_converged_percent", 100.0 * lost / len(every), "%", LOST_PERCENT, "lower"),
        BenchFigure("borne_in_part_percent", 100.0 * partly / len(every), "%"),
    ]


def cartilage_figures(spec: ModelSpec, motions: dict[str, TaskMarkers]) -> list[BenchFigure]:
    """Return the benchmark results on real cartilage: time, Newton steps and frames without an equilibrium,
    and the difference between the analytic Jacobian and the one by finite differences.

    motions : the filtered markers of each task
    """
    say("fdk: cartilage")
    jaw = mandible(spec, tolerance_N=0.1)
    _, apart, ended = compared(spec, motions["chewing"], difference_mm=FINE_MM)
    found = [
        *timing_figures({task: timed(jaw, motion) for task, motion in motions.items()}),
        *switched_figures(spec, motions["chewing"]),
        BenchFigure("alpha_difference", max(apart), "m", SAME_M, "lower"),
        BenchFigure("to_a_micronewton_percent", 100.0 * ended, "%"),
    ]
    return [figure._replace(name=f"cartilage.{figure.name}") for figure in found]


def mandible(spec: ModelSpec, **options: Any) -> ForceDependentKinematics:
    """Return the solver of force-dependent kinematics (FDK) for a mandible, with the three FDK degrees of
    freedom of Andersen et al. (2017); options : further arguments of the solver
    """
    settings, model = FdkSpec(dofs=DOFS, **options), build(spec, method=METHOD)
    return ForceDependentKinematics(model, roles_of(spec, METHOD), settings)


class TimedFrames(NamedTuple):
    """Timings of all frames: elapsed time and processor time [ms] and number of Newton steps of each frame,
    the number of frames without an equilibrium, and the number of frames in which the muscles were too
    weak for the load.
    """

    ms: list[float]
    busy_ms: list[float]
    steps: list[int]
    lost: int
    partly: int


def filtered(task: str, seconds: float) -> TaskMarkers:
    """Return the markers of the synthetic jaw in a task of `seconds` [s], with velocities and accelerations
    by the Butterworth filter that a run uses; frames before the filter has settled are left out.
    """
    trial = move_jaw(load_model(MODEL), task, seconds)
    n, shape = trial.positions[0].size, trial.positions[0].shape
    estimator = RateEstimator(ButterworthSpec(), plain(n), trial.rate)
    rows: list[list[Array]] = []
    for t, x in zip(trial.times, trial.positions, strict=True):
        if estimator.take(float(t), x.ravel()) == OK:
            rows.append([np.array(row).reshape(shape) for row in estimator.rates])
    if not rows:
        raise RtsimError("bench fdk: the filter has not settled in this time; give a larger --seconds")
    return TaskMarkers(*(np.array(column) for column in zip(*rows, strict=True)))


def timed(jaw: ForceDependentKinematics, motion: TaskMarkers) -> TimedFrames:
    """Solve the frames of a motion one after the other, and return the timings of the search for the FDK
    equilibrium of each. The equilibrium of the first frame is found before the timing begins.
    """
    weight = np.ones(motion.position.shape[1])
    jaw.forget()
    jaw.balance(motion.position[0], motion.velocity[0], motion.acceleration[0], weight)
    ms, busy_ms, steps, lost, partly = [], [], [], 0, 0
    gc.collect()
    gc.disable()
    try:
        for x, v, a in zip(*motion, strict=True):
            start, begun = perf_counter_ns(), thread_time_ns()
            status = jaw.balance(x, v, a, weight)
            busy_ms.append(1e-6 * (thread_time_ns() - begun))
            ms.append(1e-6 * (perf_counter_ns() - start))
            steps.append(jaw.iterations)
            lost += status not in (BALANCED, NOT_BORNE)
            partly += status == NOT_BORNE
    finally:
        gc.enable()
    return TimedFrames(ms, busy_ms, steps, lost, partly)


def compared(
    spec: ModelSpec, motion: TaskMarkers, **differences: float
) -> tuple[list[float], list[float], float]:
    """Compare the FDK solver that uses the analytic Jacobian (of the residual force with respect to the FDK
    displacements alpha) with the FDK solver that uses finite differences.

    Every EVERY-th frame of the motion is solved by both. Counted are the frames in which both reach a
    residual force of a micronewton. Return a list with the largest difference between the
    analytic Jacobian and one by very short differences in each of these frames, relative to the largest
    entry; a list with the largest difference of alpha between the two solutions in each of them [m]; and the
    fraction of the solved frames that are counted.

    differences : options of the search with finite differences, such as the step; by default as in Andersen
        et al. (2017)
    """
    one = mandible(spec, tolerance_N=1e-6)
    other = mandible(spec, tolerance_N=1e-6, jacobian="difference", **differences)
    weight, frames = np.ones(motion.position.shape[1]), range(0, len(motion.position), EVERY)
    slopes, apart = [], []
    for k in frames:
        markers = (motion.position[k], motion.velocity[k], motion.acceleration[k], weight)
        if one.balance(*markers) != BALANCED or other.balance(*markers) != BALANCED:
            continue
        apart.append(float(np.abs(one.alpha - other.alpha).max()))
        analytic = one.slopes(0.0)
        if one.model.forces.contacts.meshes is not None:
            finest = one.slopes(OF_TRIANGLES)
        else:
            finest = (4.0 * one.slopes(0.5 * FINEST) - one.slopes(FINEST)) / 3.0
        slopes.append(float(np.abs(analytic - finest).max() / np.abs(analytic).max()))
    if not slopes:
        raise RtsimError("bench fdk: the residual force fell to a micronewton in no frame")
    return slopes, apart, len(slopes) / len(frames)


def switched_figures(spec: ModelSpec, motion: TaskMarkers) -> list[BenchFigure]:
    """Return benchmark results on the difference between the analytic Jacobian of the FDK residual force and
    the one by central differences. Frames count only if no step of the differences changes the closest
    triangle, edge or corner of any mesh vertex, as the force has a kink there.
    """
    jaw, weight = mandible(spec, tolerance_N=0.1), np.ones(motion.position.shape[1])
    frames, apart = range(0, len(motion.position), OFTEN), []
    for k in frames:
        jaw.balance(motion.position[k], motion.velocity[k], motion.acceleration[k], weight)
        analytic, columns = jaw.slopes(0.0), []
        alpha, place, same = jaw.alpha.copy(), pressed_places(jaw), True
        for step in OF_TRIANGLES * np.eye(len(alpha)):
            ends = []
            for jaw.alpha[:] in (alpha + step, alpha - step):
                jaw.slopes(0.0)
                ends.append(jaw.residual.copy())
                same = same and np.array_equal(pressed_places(jaw), place)
            columns.append((ends[0] - ends[1]) / (2.0 * OF_TRIANGLES))
        jaw.alpha[:] = alpha
        if same:
            apart.append(float(np.abs(analytic - np.array(columns).T).max() / np.abs(analytic).max()))
    found = [BenchFigure("jacobian_difference.unswitched_percent", 100.0 * len(apart) / len(frames), "%")]
    if apart:
        found.append(BenchFigure("jacobian_difference.unswitched", max(apart), "1", SLOPES, "lower"))
    return found


def pressed_places(jaw: ForceDependentKinematics) -> Array:
    """Return one row for every mesh vertex in contact, (n, 6): its number; the triangle whose face is
    closest, or -1; whether an edge or a corner is closest; and the direction of this edge or corner.
    """
    meshes, contacts = jaw.model.forces.contacts.meshes, jaw.model.forces.contacts.pressed
    mesh, rows = jaw.work.forces.contacts.meshes, []
    if meshes is None or contacts is None or mesh is None:
        return np.zeros((0, 6))
    for e, surfaces in enumerate(zip(contacts.mesh_a, contacts.mesh_b, strict=True)):
        for side, surface in enumerate(surfaces):
            first = contacts.vertex[e, side]
            touch = slice(first, first + mesh.n_touch[e, side])
            vertex = mesh.touching[touch]
            triangle = mesh.guess[first + vertex - meshes.table[surface, VERTEX]]
            bent = mesh.touch[touch, BEND] != 0.0
            along = np.abs(mesh.touch[touch, ALONG : ALONG + 3]).round(9)
            rows.append(np.column_stack((vertex, np.where(bent, -1, triangle), bent, along)))
    return np.concatenate(rows)


def percentile(ms: list[float], q: float) -> float:
    """Return the q-th percentile of the computing times of frames [ms]."""
    return float(np.percentile(ms, q))
