"""The results of a run, as those of a live session: a descriptor and the values of its fields over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.joints.tree import new_pose, pose
from rtsim.files.recording import Results
from rtsim.models.packing.muscle_points import muscle_points
from rtsim.quantity import Fields
from rtsim.simulation.quantities import SimulatedQuantities
from rtsim.simulation.run import SimulatedRun
from rtsim.simulation.simulator import Simulator
from streams.clock import now_ns
from streams.messages import FieldSpec, Status

SIMULATION = "simulation"
"""Source that the descriptor of a simulation's results states."""


def results_of(simulator: Simulator, done: SimulatedRun) -> Results:
    """Return the results of a simulation for the rows of its run, in the form in which a live session would
    have sent them.
    """
    tree, times = simulator.model.tree, done.times
    at = new_pose(len(tree.parent), len(tree.dof_body), len(tree.chains.dof))
    told = SimulatedQuantities(simulator, done.trace, at)
    rate = 1.0 / float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    fields = Fields(told.quantities, rate, now_ns(), described(simulator))
    values = {name: np.empty((len(times), *array.shape)) for name, array in fields.arrays.items()}
    for row, q in enumerate(done.trace.q):
        pose(tree, q, at)
        told.report(row)
        for name, array in fields.arrays.items():
            values[name][row] = array
    large = done.trace.error > simulator.settings.tolerance
    status = np.where(large, int(Status.DEGRADED), int(Status.OK))
    return Results(fields.session, values, times, status)


def described(simulator: Simulator) -> dict[str, Any]:
    """Return the metadata of a simulation for the descriptor (first message) of the stream of its results."""
    m, settings = simulator.model, simulator.settings
    points = muscle_points(m)
    return {
        "model": m.name,
        "method": settings.method,
        "source": SIMULATION,
        "step_ms": settings.step_ms,
        "kinks": settings.kinks,
        "up": "Y",
        **({"muscle_points": points} if points else {}),
        "stick": [[m.names.bodies[p], m.names.bodies[b]] for b, p in enumerate(m.tree.parent) if p >= 0],
    }


def specs_of(results: Results) -> dict[str, FieldSpec]:
    """Return the description (FieldSpec) of each field of the results, by name."""
    return {spec.name: spec for spec in results.session.fields}


def largest(results: Results, name: str) -> dict[str, tuple[float, float]]:
    """Return for each label of a field of the results its largest magnitude, or the largest length of its
    vector, and the time when it occurs [s]; NaN is ignored.
    """
    if not len(results.times):
        return {}
    values = np.nan_to_num(results.fields[name])
    sizes = np.linalg.norm(values, axis=2) if values.ndim == 3 else np.abs(values)
    rows = sizes.argmax(axis=0)
    return {
        label: (float(sizes[row, k]), float(results.times[row]))
        for k, (label, row) in enumerate(zip(specs_of(results)[name].labels, rows, strict=True))
    }


def outside(simulator: Simulator, done: SimulatedRun) -> list[str]:
    """Return warnings about coordinates that have left their range, as the simulation does not enforce
    ranges."""
    m, said = simulator.model, []
    for name, column, (low, high) in zip(
        m.coordinates.names, m.coordinates.q, m.coordinates.range, strict=True
    ):
        values = done.trace.q[:, column]
        beyond = np.flatnonzero((values < low) | (values > high))
        if len(beyond):
            said.append(
                f"{name} leaves its range at {done.times[beyond[0]]:.6g} s; in a simulation only "
                "forces keep a coordinate in its range"
            )
    return said
