"""Runs of the knee with volumetric contact (chapter 3 of the thesis, Brown 2017) with perturbed parameters,
and Sobol indices of their results.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.stats import qmc, sobol_indices

from kernels.contact.elements import DEPTH, NORMAL
from kernels.forces.lines import TENSION
from kernels.rosenbrock.trace import Trace
from rtsim.bench.contacts.knee import LATERAL, MEDIAL, RIGHT_ANGLE, first_root, whole_run
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model

Array = NDArray[np.float64]

INSERTION_MM, SLACK, CONTACT_MM, STIFFNESS, SHANK = 2.0, 0.02, 1.0, 0.1, 0.1
"""Half widths of the uniformly distributed perturbations: of insertions [mm], slack lengths [1], spheres and
planes [mm], and, not from the thesis, of k_V and of the cylinder's radius and length [1].
"""
CYLINDER_M, MASS_KG = (0.05, 0.45), 4.0
LONGEST_S = 0.45
"""Duration of a run, in which even the slowest knee reaches 90 degrees [s]."""
N_BASE, SEED, N_RESAMPLE = 32, 1, 200
"""Number of base points of Saltelli's design, a power of two; its seed; number of bootstrap samples of the
confidence intervals.
"""
CONFIDENCE = 0.95
AT_ONCE, TOLD = 25, 40
"""Number of runs that a process receives at once, and number of such batches between progress messages."""
AXES = "xyz"
WHOLE = ("time to 90 deg", "peak medial force", "lateral lift-off")
"""Outputs that precede the peak forces of the ligaments."""


class KneeOutcome(NamedTuple):
    """Results of a run of the knee up to 90 degrees of flexion.

    t90 : time until 90 degrees of flexion [s]
    medial : peak medial force [N]
    lift_off : flexion at which the lateral contact first opens, 90 if it stays closed [deg]
    ligaments : (12,) peak forces [N]
    """

    t90: float
    medial: float
    lift_off: float
    ligaments: Array

    @property
    def row(self) -> Array:
        """All results in one row, (15,)."""
        return np.array([self.t90, self.medial, self.lift_off, *self.ligaments])


class KneeSensitivity(NamedTuple):
    """Sobol indices of every output of the knee model with respect to every parameter.

    names : names of the n_in parameters
    outputs : names of the n_out outputs
    n_run : number of runs
    n_left_out : number of points of the sample that are left out, as a run failed
    first, total : (n_out, n_in, 3) - index, lower and upper end of its confidence interval
    """

    names: tuple[str, ...]
    outputs: tuple[str, ...]
    n_run: int
    n_left_out: int
    first: Array
    total: Array


def outcome_of(spec: ModelSpec) -> KneeOutcome:
    """Simulate the knee after a pulse and return its outcome; NaN if it does not reach 90 degrees of
    flexion.
    """
    step = 1e-3 * spec.simulation.step_ms
    trace = whole_run(replace(spec, simulation=replace(spec.simulation, duration_s=LONGEST_S)))
    return outcome_of_trace(trace, step)


def outcome_of_trace(trace: Trace, step: float) -> KneeOutcome:
    """Return the outcome of a simulated run of the knee; trace : one row for each step; step : time between
    rows [s]
    """
    flexion = trace.q[:, 0]
    if not flexion[-1] > RIGHT_ANGLE:
        return KneeOutcome(np.nan, np.nan, np.nan, np.full(trace.line.shape[1], np.nan))
    bent = first_root(flexion - RIGHT_ANGLE)
    rows = slice(0, int(bent) + 2)
    return KneeOutcome(
        step * bent,
        float(trace.contact[rows, MEDIAL, NORMAL].max()),
        lift_off_deg(flexion, trace.contact[rows, LATERAL, DEPTH]),
        trace.line[rows, :, TENSION].max(axis=0),
    )


def lift_off_deg(flexion: Array, depth: Array) -> float:
    """Return the flexion at which a contact first opens [deg]; 90 if it does not open before.

    flexion : (n,) flexion in each row of the run [rad]
    depth : penetration of the contact [m] in the first rows, up to 90 degrees of flexion
    """
    opened = np.flatnonzero(depth < 0.0)
    if not len(opened):
        return 90.0
    if opened[0] == 0 or opened[0] == len(depth) - 1:
        return float(np.degrees(flexion[opened[0]]))
    return float(np.degrees(np.interp(first_root(-depth), np.arange(float(len(flexion))), flexion)))


def parameter_names(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of all perturbed parameters of the knee model, in the order of the perturbations that
    `perturbed` takes.
    """
    ends = [(own.name, part) for own in spec.ligaments for part in ("tibia", "femur")]
    names = [f"{name} {part} {axis}" for name, part in ends for axis in AXES]
    names += [f"{own.name} slack length" for own in spec.ligaments]
    for contact in spec.contacts:
        names += [*(f"{contact.name} sphere {axis}" for axis in AXES), f"{contact.name} radius"]
        names.append(f"{contact.name} plane")
    return (*(name.replace("_", " ") for name in names), "k_V", "cylinder radius", "cylinder length")


def perturbed(spec: ModelSpec, x: Array) -> ModelSpec:
    """Return the knee model with perturbed parameters; x : (n_in,) perturbations, from -1 to 1, in units of
    half the range of each parameter.

    The thesis ties the slack length of a ligament to its stiffness K_1 (eq. 3.2), so a perturbed slack length
    changes K_1, too. The shank is a cylinder whose mass stays the same when its size is perturbed.
    """
    drawn = iter(x.tolist())

    def moved(place: Any, by: float) -> Any:
        return replace(place, offset_mm=tuple(value + by * next(drawn) for value in place.offset_mm))

    ligaments = [
        replace(own, a=moved(own.a, INSERTION_MM), b=moved(own.b, INSERTION_MM)) for own in spec.ligaments
    ]
    ligaments = [
        replace(own, toe_stiffness_N_mm2=own.toe_stiffness_N_mm2 / (1.0 + SLACK * next(drawn)))
        for own in ligaments
    ]  # fmt: skip
    contacts: list[Any] = []
    given: Any = spec.contacts  # spheres on planes
    for contact in given:
        ball = moved(contact.ellipsoid, CONTACT_MM)
        ball = replace(ball, radius_mm=ball.radius_mm + CONTACT_MM * next(drawn))
        normal = np.array(contact.plane.normal) / np.linalg.norm(contact.plane.normal)
        shift = CONTACT_MM * next(drawn) * normal
        plane = replace(contact.plane, offset_mm=tuple((np.array(contact.plane.offset_mm) + shift).tolist()))
        contacts.append(replace(contact, ellipsoid=ball, plane=plane))
    stiffness = 1.0 + STIFFNESS * next(drawn)
    radius, length = (size * (1.0 + SHANK * next(drawn)) for size in CYLINDER_M)
    across = MASS_KG * (3.0 * radius**2 + length**2) / 12.0
    bodies = tuple(
        replace(body, inertia_kg_m2=(across, across, 0.5 * MASS_KG * radius**2)) if body.mass_kg else body
        for body in spec.bodies
    )
    return replace(
        spec, bodies=bodies, ligaments=tuple(ligaments),
        contacts=tuple(replace(own, stiffness=own.stiffness * stiffness) for own in contacts),
    )  # fmt: skip


def rows_of(some: Array) -> Array:
    """Simulate knees with perturbed parameters, one after the other. Return their outcomes (n, 15), one row
    for each knee, NaN for a failed run; some : (n, n_in) - perturbations
    """
    spec, found = load_model("knee"), []
    for x in some:
        try:
            found.append(outcome_of(perturbed(spec, x)).row)
        except ArithmeticError:
            found.append(np.full(3 + len(spec.ligaments), np.nan))
    return np.array(found)


@lru_cache(maxsize=1)
def sensitivity(n_base: int, progress: Callable[[str], None]) -> KneeSensitivity:
    """Compute the Sobol indices of the knee's outputs by Saltelli's design with two sample matrices A and B
    (n_base, d) for d parameters, and d matrices that are A with one column of B: n_base (d + 2) runs.

    progress : function called with messages on the progress
    """
    spec = load_model("knee")
    names = parameter_names(spec)
    d = len(names)
    both = 2.0 * qmc.Sobol(2 * d, seed=SEED).random(n_base) - 1.0
    A, B = both[:, :d], both[:, d:]
    mixed = np.repeat(A[None], d, axis=0)
    for k in range(d):
        mixed[k, :, k] = B[:, k]
    cases = np.concatenate([A, B, mixed.reshape(-1, d)])
    values = in_processes(cases, progress)
    f_A, f_B, f_AB = values[:n_base], values[n_base : 2 * n_base], values[2 * n_base :].reshape(d, n_base, -1)
    known = np.isfinite(f_A).all(axis=1) & np.isfinite(f_B).all(axis=1) & np.isfinite(f_AB).all(axis=(0, 2))
    kept = np.flatnonzero(known)[: 1 << (int(known.sum()).bit_length() - 1)]
    of_function = {"f_A": f_A[kept].T, "f_B": f_B[kept].T, "f_AB": f_AB[:, kept].transpose(0, 2, 1)}
    found = sobol_indices(func=of_function, n=len(kept))
    with warnings.catch_warnings():  # indices that are zero have no interval, which is NaN
        warnings.simplefilter("ignore")
        spread = found.bootstrap(confidence_level=CONFIDENCE, n_resamples=N_RESAMPLE)
    outputs = (*WHOLE, *(own.name.replace("_", " ") for own in spec.ligaments))
    return KneeSensitivity(
        names=names,
        outputs=outputs,
        n_run=len(cases),
        n_left_out=n_base - len(kept),
        first=with_ends(found.first_order, spread.first_order.confidence_interval),
        total=with_ends(found.total_order, spread.total_order.confidence_interval),
    )


def with_ends(index: Array, interval: Any) -> Array:
    """Join Sobol indices (n_out, n_in) with the lower and upper ends of their confidence intervals, (n_out,
    n_in, 3).
    """
    return np.stack([index, interval.low, interval.high], axis=-1)


def in_processes(cases: Array, progress: Callable[[str], None]) -> Array:
    """Compute the outcomes of all perturbed knees in several processes; the results do not depend on the
    number of processes."""
    parts = np.array_split(cases, max(1, len(cases) // AT_ONCE))
    n = os.cpu_count() or 1
    if n == 1 or len(parts) == 1:
        return np.concatenate([rows_of(part) for part in parts])
    found = []
    # an interruption is the parent's, who leaves out what has not begun
    quiet: dict[str, Any] = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
    with ProcessPoolExecutor(min(n, len(parts)), multiprocessing.get_context("spawn"), **quiet) as pool:
        for k, part in enumerate(pool.map(rows_of, parts), 1):
            found.append(part)
            if k % TOLD == 0:
                progress(f"knee: {sum(map(len, found))} of {len(cases)} simulations are done")
    return np.concatenate(found)
