"""Benchmark of the computing times of foot contact: the force of one contact, the forces and pressures of a
recorded step, and the simulation of a foot that drops.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import rtsim.simulation.run
from kernels.compiler.jit import bind, entry
from kernels.contact.corrected import (
    N_SPLINE,
    SHIFT,
    TOES,
    TURN,
    CorrectedWork,
    Correction,
    RecordedFoot,
    corrected_wrenches,
    new_corrected_work,
)
from kernels.contact.elements import PATCH
from kernels.contact.prescribed import (
    Prescribed,
    contact_derivatives,
    contact_wrenches,
    new_prescribed_work,
)
from kernels.contact.pressure_field import Grid
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.timed_runs import time_runs
from rtsim.methods.foot.prescribed_contacts import prescribed_contacts
from rtsim.models.model import Model
from rtsim.simulation.load import load_simulator

Array = NDArray[np.float64]

US_PER_CONTACT = 0.4
INVERSE, WITH_PRESSURE, FORWARD = 5000.0, 500.0, 100.0
"""Lowest ratios of real time to computing time: a step without and with its pressure, the foot's drop."""
RATE = 128.0
"""Frames per second of the recorded motion in the thesis (Brown 2017)."""
SHAPE = (39, 16)
"""Rows and columns of the pressure mat in the thesis."""
N_KNOT = 10
N_REPEAT, N_LAP = 2000, 40


class RecordedStep(NamedTuple):
    """A footstep in the form of a recording: contacts of the foot's segments with the floor, recorded motion
    of the foot, splines that correct this motion, and grid of the pressure under the sole.
    """

    contacts: Prescribed
    motion: RecordedFoot
    correction: Correction
    grid: Grid


@entry
def repeat_wrenches(model, motion, work, n):
    """Compute the contact forces of bodies with prescribed motion n times.

    model : Prescribed - contacts of bodies with prescribed motion
    motion : Motion - positions and velocities of the bodies in ground
    work : PrescribedWork - results and working space, written
    n : int - number of calls
    """
    for _ in range(n):
        contact_wrenches(model, motion, work)


@entry
def repeat_derivatives(model, motion, work, with_parameters, n):
    """Compute the contact forces of bodies with prescribed motion and their derivatives n times.

    model : Prescribed - contacts of bodies with prescribed motion
    motion : Motion - positions and velocities of the bodies in ground
    work : PrescribedWork - results of contacts with prescribed motion, and working space, written
    with_parameters : bool - whether derivatives with respect to the parameters are computed, too
    n : int - number of calls
    """
    for _ in range(n):
        contact_derivatives(model, motion, work, with_parameters)


def run() -> list[BenchFigure]:
    """Time the force of one contact, a recorded step with and without its pressure, and the simulation of a
    foot that drops; return the times as benchmark results.
    """
    step = rolled_step()
    say("foot: contacts")
    figures = contact_figures(step)
    say("foot: a step")
    n = len(step.motion.time)
    plain, pressed = new_corrected_work(step.contacts, n), new_corrected_work(step.contacts, n, SHAPE)
    length = n / RATE
    for name, work, limit in (
        ("inverse_real_time_factor", plain, INVERSE),
        ("with_pressure_real_time_factor", pressed, WITH_PRESSURE),
    ):
        seconds = float(np.median(step_seconds(step, work)))
        figures.append(BenchFigure(name, length / seconds, "1", limit, "higher"))
    figures += [
        BenchFigure("frames", float(n), "1"),
        BenchFigure("contacts_per_frame", touching(step), "1"),
        BenchFigure("pressure_error", pressure_error(step, pressed), "1"),
    ]
    say("foot: the drop")
    simulator = load_simulator("foot")
    n_step = round(simulator.settings.duration_s / simulator.options.step)
    timing = time_runs(simulator, n_step, N_LAP)
    factor = simulator.settings.duration_s / timing.best
    figures.append(BenchFigure("forward_real_time_factor", factor, "1", FORWARD, "higher"))
    return figures


def rolled_step() -> RecordedStep:
    """Return a footstep with the simulated motion of the shipped model foot_rolled, sampled at RATE frames
    per second like a recording; the angle of the toes is a spline through the simulated one.
    """
    simulator = load_simulator("foot_rolled")
    duration = simulator.settings.duration_s
    done = rtsim.simulation.run.run(simulator, round(duration / simulator.options.step))
    times = np.arange(int(duration * RATE)) / RATE
    rows = np.rint(times / simulator.options.step).astype(int)
    q, v = done.trace.q[rows], done.trace.v[rows]
    pitch = Rotation.from_rotvec(np.outer(q[:, 4], [0.0, 0.0, 1.0])).as_matrix()
    model = simulator.model
    toe_origin, toe_axes, toe_axis = toes_of(model)
    motion = RecordedFoot(
        time=times,
        position=q[:, :3].copy(),
        rotation=pitch,
        velocity=v[:, :3].copy(),
        turning=np.outer(v[:, 4], [0.0, 0.0, 1.0]),
        toe_origin=toe_origin,
        toe_axes=toe_axes,
        toe_axis=toe_axis,
    )
    knots = correction_knots(np.interp(np.linspace(0.0, times[-1], N_KNOT), times, q[:, 6]))
    heel = q[0, :3] - [0.06, 0.0, 0.06]
    grid = Grid(heel * [1.0, 0.0, 1.0], np.eye(3)[2], np.eye(3)[0], np.array([0.0075, 0.0085]))
    return RecordedStep(
        prescribed_contacts(model), motion, spline(knots, 0.0, times[-1] / (N_KNOT - 1)), grid
    )


def toes_of(model: Model) -> tuple[Array, Array, Array]:
    """Return from the model of a foot: the origin of the toe segment on the foot [m], its axes in the foot's
    axes, and the axis about which it rotates.
    """
    tree = model.tree
    return tree.position_in_parent[1].copy(), tree.rotation_in_parent[1].copy(), tree.parameter[1].copy()


def correction_knots(toes: Array) -> Array:
    """Return the values of the splines at their knots, (N_SPLINE, N_KNOT): three shifts [m] and three
    rotations [rad] that correct the foot's motion, random within the bounds of Brown (2017), and the angle
    of the toes.

    toes : (N_KNOT,) - the angle of the toes at the knots [rad]
    """
    knots = np.zeros((N_SPLINE, N_KNOT))
    rng = np.random.default_rng(0)
    knots[SHIFT:TURN] = rng.uniform(-0.0005, 0.0005, (3, N_KNOT))
    knots[TURN:TOES] = rng.uniform(-0.005, 0.005, (3, N_KNOT))
    knots[TOES] = toes
    return knots


def spline(knots: Array, start: float, step: float) -> Correction:
    """Return cubic splines through knots : (N_SPLINE, n_knot). The first knot is at the time `start` [s], and
    from one knot to the next it is `step` [s].
    """
    found = CubicSpline(np.arange(knots.shape[1]), knots, axis=1)
    return Correction(start, step, np.ascontiguousarray(found.c[::-1].transpose(2, 1, 0)))


def contact_figures(step: RecordedStep) -> list[BenchFigure]:
    """Return the measured times of the force of one contact, and of all three contacts, each pressed as in
    the middle of the step.
    """
    model, n = step.contacts, len(step.contacts.contacts.pair)
    frames = new_corrected_work(model, 1)
    figures: list[BenchFigure] = []
    middle = len(step.motion.time) // 2
    at = step.motion._replace(**{name: getattr(step.motion, name)[middle : middle + 1] for name in RECORDED})
    corrected_wrenches(model, at, step.correction, step.grid, frames)
    frames.motion.position[:, 1] -= 0.006  # so that the toes press, too
    work = new_prescribed_work(model, 2)
    contact_wrenches(model, frames.motion, work)
    if not (work.contacts.state[:, PATCH] > 0.0).all():
        raise AssertionError("a contact of the benchmark does not carry load, so it cannot be measured")
    for name, call, limit in (
        ("", lambda: repeat_wrenches(model, frames.motion, work, N_REPEAT), US_PER_CONTACT),
        (".slopes", lambda: repeat_derivatives(model, frames.motion, work, False, N_REPEAT), None),
        (".parameters", lambda: repeat_derivatives(model, frames.motion, work, True, N_REPEAT), None),
    ):
        seconds = timed(call)
        us = 1e6 * float(np.median(seconds)) / (N_REPEAT * n)
        figures.append(BenchFigure(f"us_per_contact{name}", us, "us", limit, "lower" if limit else ""))
    return figures


RECORDED = ("time", "position", "rotation", "velocity", "turning")
"""Fields of a FootMotion that exist frame by frame."""


def step_seconds(step: RecordedStep, work: CorrectedWork) -> Array:
    """Measure the computation of the contact forces of the whole footstep, splines included, in one call of
    the kernel; return the duration of each repetition, (N_LAP,) [s].

    work : results of the kernel and working space; with a pressure grid, pressures are computed, too
    """
    arguments = step.contacts, step.motion, step.correction, step.grid, work
    kernel = bind(corrected_wrenches, arguments)
    return timed(lambda: kernel(*arguments))


def timed(call: Callable[[], object]) -> Array:
    """Return the durations of N_LAP calls, (N_LAP,) [s]; one call before them is not counted."""
    call()
    taken = np.empty(N_LAP)
    gc.disable()
    try:
        for i in range(N_LAP):
            start = perf_counter()
            call()
            taken[i] = perf_counter() - start
    finally:
        gc.enable()
    return taken


def touching(step: RecordedStep) -> float:
    """Return the number of contacts that carry load, averaged over the frames of the step."""
    work, total = new_corrected_work(step.contacts, 1), 0
    for n in range(len(step.motion.time)):
        frame = step.motion._replace(**{name: getattr(step.motion, name)[n : n + 1] for name in RECORDED})
        corrected_wrenches(step.contacts, frame, step.correction, step.grid, work)
        total += int((work.contacts.contacts.state[:, PATCH] > 0.0).sum())
    return total / len(step.motion.time)


def pressure_error(step: RecordedStep, work: CorrectedWork) -> float:
    """Return the largest difference between the pressure integrated over its grid and the normal force in a
    frame, relative to the largest normal force; work : results of the step, already computed
    """
    cell = float(np.prod(step.grid.cell))
    total, normal = cell * work.pressure.sum(axis=(1, 2)), work.wrench[:, 4]
    return float(np.abs(total - normal).max() / normal.max())
