"""A leg with a kneecap beside OpenSim: moment arms over whole ranges, and a motion file that it reads.

Arms are compared where OpenSim's arm equals minus the slope of its own length. The kneecap's coordinate has
the motion type Coupled, so that a file in degrees holds it in radians: OpenSim's inverse dynamics of our file
is compared with that of the same motion in radians.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure
from rtsim.files.recording import Results
from rtsim.files.tables.export import table_parts
from rtsim.files.tables.storage import read_storage
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.quantity import Fields
from rtsim.stages.poses.coordinates import CoordinateValues

Array = NDArray[np.float64]

MODEL = "leg6dof9musc.osim"
N_STEP, STEP = 41, 1e-4
"""Poses over the range of a coordinate, and the step of OpenSim's own differences [rad]."""
OWN = 2e-4
"""Difference of OpenSim's arm from its own -dL/dq beyond which it is no measure [m]."""
RATE, LENGTH_S, SWING = 100.0, 2.0, 0.3
LARGEST_MM, LARGEST_PART = 1.0, 1e-3


def path_figures(opensim: Any, models: Path) -> list[BenchFigure]:
    """Largest differences of the leg in a folder of models; none where it is not there."""
    path = models / MODEL
    if not path.is_file():
        return []
    peer = opensim.Model(str(path))
    state = peer.initSystem()
    largest, n = largest_arm(peer, state, path)
    return [
        BenchFigure("paths.arms", float(n), "1"),
        BenchFigure("paths.largest_arm_mm", 1e3 * largest, "mm", LARGEST_MM, "lower"),
        BenchFigure("coupled.largest_relative", largest_moment(opensim, path), "1", LARGEST_PART, "lower"),
    ]


def largest_arm(peer: Any, state: Any, path: Path) -> tuple[float, int]:
    """Return the largest difference of moment arms over the range of every free coordinate [m], and the
    number of compared arms.
    """
    spec = load_model(str(path))
    model = build(spec)
    arms, own = MomentArms(model, roles_of(spec)), model.coordinates
    followers = {coupler.coordinate for coupler in spec.couplers}
    coordinates, muscles = peer.getCoordinateSet(), peer.getMuscles()
    differences = []
    for about in own.names:
        if about in followers:
            continue
        coordinate = coordinates.get(about)
        for value in np.linspace(coordinate.getRangeMin() + STEP, coordinate.getRangeMax() - STEP, N_STEP):

            def lengths(at: float, coordinate: Any = coordinate) -> Array:
                coordinate.setValue(state, at, True)
                peer.realizePosition(state)
                found = [muscles.get(name).getGeometryPath().getLength(state) for name in model.names.muscles]
                return np.array(found)

            slopes = (lengths(value - STEP) - lengths(value + STEP)) / (2.0 * STEP)
            lengths(value)
            theirs = np.array(
                [muscles.get(name).computeMomentArm(state, coordinate) for name in model.names.muscles]
            )
            q = model.q_neutral.copy()
            q[own.q] = [coordinates.get(name).getValue(state) for name in own.names]
            ours = arms.at(q)[:, model.names.angles.index(about)]
            sound = np.abs(slopes - theirs) <= OWN
            differences += np.abs(ours - theirs)[sound].tolist()
        coordinate.setValue(state, coordinate.getDefaultValue(), True)
    return max(differences, default=float("nan")), len(differences)


def largest_moment(opensim: Any, path: Path) -> float:
    """Return the largest difference of OpenSim's generalized forces from our motion file, relative to its
    peak.
    """
    model = build(load_model(str(path)))
    times = np.arange(0.0, LENGTH_S + 0.5 / RATE, 1.0 / RATE)
    told, q = CoordinateValues(model), model.q_neutral.copy()
    fields = Fields(told.quantities(), RATE, 0, {})
    values = {name: np.empty((len(times), *array.shape)) for name, array in fields.arrays.items()}
    start, rows = q[model.coordinates.q].copy(), []
    for k, time in enumerate(times):
        rows.append(start + SWING * np.sin((2.0 + 0.3 * np.arange(len(start))) * time))
        q[model.coordinates.q] = rows[-1]
        told.report(q)
        for name, array in fields.arrays.items():
            values[name][k] = array
    results = Results(fields.session, values, times, np.zeros(len(times), np.int64))
    names = model.coordinates.names
    lines = ["\t".join(f"{x:.12g}" for x in (time, *row)) for time, row in zip(times, rows, strict=True)]
    head = ["radians", "version=1", f"nRows={len(times)}", f"nColumns={1 + len(names)}", "inDegrees=no"]
    with TemporaryDirectory() as folder:
        ours, true = Path(folder) / "ours.mot", Path(folder) / "true.mot"
        ours.write_text("".join(table_parts(results, ".mot", ours.name, "ours", "bench", "all")[0]), "utf-8")
        true.write_text("\n".join([*head, "endheader", "\t".join(("time", *names)), *lines, ""]), "utf-8")
        found, right = (moments(opensim, path, motion) for motion in (ours, true))
    peaks = np.abs(right).max(axis=0)
    moved = peaks > 0.0
    return float((np.abs(found - right).max(axis=0)[moved] / peaks[moved]).max())


def moments(opensim: Any, path: Path, motion: Path) -> Array:
    """(n, n_coordinate) - OpenSim's generalized forces of a motion file, without muscles."""
    tool, model = opensim.InverseDynamicsTool(), opensim.Model(str(path))
    excluded = opensim.ArrayStr()
    excluded.append("Muscles")
    tool.setModel(model)
    tool.setExcludedForces(excluded)
    tool.setCoordinatesFileName(str(motion))
    tool.setLowpassCutoffFrequency(-1)
    tool.setStartTime(0.1)
    tool.setEndTime(LENGTH_S - 0.1)
    tool.setResultsDir(str(motion.parent))
    tool.setOutputGenForceFileName(f"{motion.stem}.sto")
    tool.run()
    return read_storage(motion.parent / f"{motion.stem}.sto").data[:, 1:]
