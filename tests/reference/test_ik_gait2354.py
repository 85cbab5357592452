"""Inverse kinematics of a whole OpenSim model: every frame of a walk, and OpenSim itself where installed.

The mean weighted RMS over 0.4 to 1.6 s of OpenSim 4.6 at accuracy 1e-7 (InverseKinematicsSolver, marker
weights of the set-up) is 10.69965 mm without and 11.52856 mm with the set-up's coordinate tasks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.kkt import CONVERGED
from tests.reference import gait2354

Array = NDArray[np.float64]

START, STOP = 0.4, 1.6  # [s]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    """The scaled model, its walk and the set-up of its inverse kinematics."""
    return shared / "data" / "gait_opensim" / "gait2354"


def followed(
    folder: Path, tasks: bool, start: float = START, stop: float = STOP,
    limits: dict[str, tuple[float, float]] | None = None,
) -> tuple[gait2354.Fit, list[gait2354.Frame]]:  # fmt: skip
    """Return the fit of the walk between two times [s], with or without the set-up's coordinate tasks."""
    setup = folder / "subject01_Setup_IK.xml"
    drawn = gait2354.coordinate_weights(setup) if tasks else {}
    fit = gait2354.make_fit(
        folder / "subject01_simbody.osim", gait2354.weights_of(setup), drawn, limits or {}
    )
    measured, dt = gait2354.measured_markers(folder / "subject01_walk1.trc", fit.marker_names, start, stop)
    return fit, gait2354.run(fit, measured, dt)


@pytest.mark.parametrize(("tasks", "rms_mm"), [(False, 10.69965), (True, 11.52856)])
def test_every_frame_converges_to_the_optimum(folder: Path, tasks: bool, rms_mm: float) -> None:
    """Protects custom joints with functions from the neutral pose on: all 151 frames, OpenSim's residual."""
    fit, frames = followed(folder, tasks, 0.0, 10.0)
    assert len(frames) == 151
    assert all(frame.status == CONVERGED for frame in frames)
    assert max(frame.residual for frame in frames) <= 1e-11
    assert np.mean([frame.iterations for frame in frames[1:]]) < 5.0
    trial, _ = gait2354.measured_markers(folder / "subject01_walk1.trc", fit.marker_names, START, STOP)
    first = round(START * 60)
    counted = frames[first : first + len(trial)]
    mean = 1e3 * np.mean([gait2354.weighted_rms(fit, frame) for frame in counted])
    assert mean <= rms_mm + 2e-4


def test_a_range_of_the_knee_is_kept_in_every_frame(folder: Path) -> None:
    """Protects clamped coordinates of chains: a knee that would bend further stops at 30 degrees."""
    limit = np.radians(-30.0)
    fit, frames = followed(folder, False, limits={"knee_angle_r": (limit, 0.0)})
    knee = fit.model.coordinates.q[fit.model.coordinates.names.index("knee_angle_r")]
    assert all(frame.status == CONVERGED for frame in frames)
    angles = np.array([frame.q[knee] for frame in frames])
    assert (angles >= limit).all()
    assert 10 < np.count_nonzero(angles == limit) < len(frames)


@pytest.mark.parametrize("tasks", [False, True])
def test_coordinates_are_those_of_opensim(folder: Path, tasks: bool) -> None:
    """Protects the whole of it: frame by frame within 0.01 degree, the same residual."""
    opensim = pytest.importorskip("opensim")
    fit, frames = followed(folder, tasks)
    times, q, rms = opensim_coordinates(opensim, folder, fit, tasks)
    assert len(times) == len(frames)
    own = np.array([frame.q for frame in frames])[:, fit.model.coordinates.q]
    gap = np.abs(own - q)
    shown = np.array([name[:3] != "mtp" or tasks for name in fit.model.coordinates.names])
    turns = fit.model.coordinates.is_angle
    assert np.degrees(gap[:, shown & turns].max()) < 0.01
    assert gap[:, ~turns].max() < 1e-6
    mean = np.mean([gait2354.weighted_rms(fit, frame) for frame in frames])
    assert mean == pytest.approx(np.mean(rms), rel=1e-5)


def opensim_coordinates(
    opensim: object, folder: Path, fit: gait2354.Fit, tasks: bool
) -> tuple[list[float], Array, Array]:
    """Return times, coordinates (n_frame, n_coordinate) in the order of the fit, and weighted RMS [m]."""
    opensim.Logger.setLevelString("error")
    setup = folder / "subject01_Setup_IK.xml"
    weights = gait2354.weights_of(setup)
    model = opensim.Model(str(folder / "subject01_simbody.osim"))
    state = model.initSystem()
    marker_weights = opensim.SetMarkerWeights()
    for name, weight in weights.items():
        marker_weights.cloneAndAppend(opensim.MarkerWeight(name, weight))
    markers = opensim.MarkersReference(str(folder / "subject01_walk1.trc"), marker_weights)
    drawn = opensim.SimTKArrayCoordinateReference()
    coordinates = model.getCoordinateSet()
    for name, weight in (gait2354.coordinate_weights(setup) if tasks else {}).items():
        value = coordinates.get(name).getDefaultValue()
        reference = opensim.CoordinateReference(name, opensim.Constant(value))
        reference.setWeight(weight)
        drawn.push_back(reference)
    solver = opensim.InverseKinematicsSolver(model, markers, drawn, float("inf"))
    solver.setAccuracy(1e-7)
    table = opensim.TimeSeriesTableVec3(str(folder / "subject01_walk1.trc"))
    times = [t for t in table.getIndependentColumn() if START - 1e-3 < t < STOP + 1e-3]
    state.setTime(times[0])
    solver.assemble(state)
    q, rms = [], []
    for time in times:
        state.setTime(time)
        solver.track(state)
        q.append([coordinates.get(name).getValue(state) for name in fit.model.coordinates.names])
        names = [solver.getMarkerNameForIndex(i) for i in range(solver.getNumMarkersInUse())]
        square = sum(weights[n] * solver.computeCurrentMarkerError(n) ** 2 for n in names)
        rms.append(np.sqrt(square / sum(weights[n] for n in names)))
    return times, np.array(q), np.array(rms)
