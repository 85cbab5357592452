"""Runs of the synthetic jaw with both joint models, the true motion, and the fifteen runs of the parameter
study of ligaments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.contacts.jaw import (
    MODEL,
    N_PHASE,
    RATE,
    SETTLED_S,
    STIFFNESSES_N_M,
    STRAINS,
    by_phase,
    condyles,
    results,
    with_ligaments,
)
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.files.recording import Results
from rtsim.methods.agreement import Repeated, cycles_of, over_cycles
from rtsim.methods.kinematics.rates import response
from rtsim.models.load import load_model
from rtsim.subjects.made_up.jaw import TASKS

Array = NDArray[np.float64]

N_CYCLE, SPARE_S = 5, 1.5
"""Number of cycles in the paper, and time by which a run is longer than these cycles [s]."""
DISPLACEMENTS, FORCES = "joint_point_displacements", "joint_point_forces"


class JawTask(NamedTuple):
    """Results of one task (chewing, protrusion or opening) with both models of the jaw joint.

    fdk, pop : results of force-dependent kinematics and of the point-on-plane model
    truth : (n, 2, 3) true displacement of the condyles from rest [mm]
    cycles : frames of each of the five cycles
    """

    name: str
    fdk: Results
    pop: Results
    truth: Array
    cycles: list[slice]

    def places(self, model: str) -> Array:
        """Return the displacement of the condyles relative to the skull from their rest position, computed by
        the model "fdk" or "pop", (n, 2, 3) [mm].
        """
        return 1e3 * getattr(self, model).fields[DISPLACEMENTS]

    def forces(self, model: str) -> Array:
        """Return the joint forces computed by the model "fdk" or "pop", (n, 2, 3) [N]."""
        return np.asarray(getattr(self, model).fields[FORCES])

    def displaced(self, model: str, side: int, axis: int) -> Repeated:
        """Compare the position of a condyle computed by a model with the true one, for a side and an axis;
        return the agreement over the cycles, a row of the paper's table 1. Both curves are positions relative
        to the skull, as in the paper.
        """
        rest = 1e3 * condyles(self.name, np.zeros(1))[:, side, axis]
        return over_cycles(
            self.truth[:, side, axis] + rest, self.places(model)[:, side, axis] + rest, self.cycles
        )

    def loaded(self, side: int, axis: int) -> Repeated:
        """Compare the joint forces of both models for a side and an axis; return the agreement over the
        cycles, a row of the paper's table 2.
        """
        fdk, pop = (self.forces(model)[:, side, axis] for model in ("fdk", "pop"))
        return over_cycles(fdk, pop, self.cycles)


def seconds_of(task: str) -> float:
    """Return the duration of a live run that contains five cycles of a task of the jaw (chewing, protrusion
    or opening) after the filter has settled [s]."""
    return SETTLED_S + N_CYCLE / TASKS[task].frequency_hz + SPARE_S


@lru_cache(maxsize=3)
def task_of(task: str) -> JawTask:
    """Run a task (chewing, protrusion or opening) of the synthetic jaw with both models of the jaw joint
    through the live loop; return the results with the true motion.
    """
    fdk, pop = (results(task, joint, seconds_of(task)) for joint in ("fdk", "pop"))
    delay = float(response(ButterworthSpec(), RATE).delay_s[0])
    truth = 1e3 * (condyles(task, fdk.times - delay) - condyles(task, np.zeros(1)))
    return JawTask(
        name=task,
        fdk=fdk,
        pop=pop,
        truth=truth,
        cycles=cycles_of(fdk.times, TASKS[task].frequency_hz, N_CYCLE, SETTLED_S),
    )


@lru_cache(maxsize=3)
def study_of(task: str, progress: Callable[[str], None]) -> list[Results]:
    """Compute the fifteen runs with force-dependent kinematics of the paper's parameter study for a task:
    three stiffnesses of the ligaments with five reference strains each; progress : function called with
    messages
    """
    found = []
    for stiffness in STIFFNESSES_N_M:
        progress(f"{task}: ligament stiffness {stiffness:g} N/m")
        for strain in STRAINS:
            spec = with_ligaments(load_model(MODEL), stiffness, strain)
            found.append(results(task, "fdk", seconds_of(task), spec=spec))
    return found


def mean_cycle(task: str, own: Results, field: str) -> tuple[Array, Array]:
    """Return mean and standard deviation over five movement cycles of displacements or forces of both
    condyles, each (N_PHASE, 2, 3) [m] or [N].

    own : results of a run of the task; field : name of the field in these
    """
    cycles = by_phase(task, own, field)[:N_CYCLE]
    return cycles.mean(axis=0), cycles.std(axis=0, ddof=1)


def phases_of(task: str, times: Array, values: Array) -> tuple[Array, Array]:
    """Interpolate values (n, 2, 3), given at times (n,) [s], at N_PHASE evenly spaced phases of five movement
    cycles of a task; return their mean and standard deviation over the cycles, each (N_PHASE, 2, 3).
    """
    period = 1.0 / TASKS[task].frequency_hz
    at = times[0] + SETTLED_S + period * np.arange(N_CYCLE)[:, None] + np.linspace(0.0, period, N_PHASE)
    columns = values.reshape(len(times), -1).T
    cycles = np.stack([np.interp(at, times, column) for column in columns], axis=-1).reshape(*at.shape, 2, 3)
    return cycles.mean(axis=0), cycles.std(axis=0, ddof=1)
