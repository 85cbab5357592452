"""Plates and feet of whole trials: made ones, and every recording with plates next to the project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernels.plates.plate_assignment import BEARS, TWO_FEET
from kernels.plates.plate_contact import LOADED
from rtsim.files.forces.force_trial import RawForces, force_trial
from rtsim.files.forces.forces import read_forces
from rtsim.files.markers.markers import read_markers
from rtsim.methods.plates.plate_corrections import distances
from rtsim.methods.plates.plate_loads import PlateLoads, at_times, plate_loads
from rtsim.subjects.feet.foot_lines import foot_lines
from rtsim.subjects.markers.labs import find_lab

RIGHT, LEFT = 0, 1
LEVEL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def made(rate: float, wrench):
    """A trial of one plate without corners, force (n, 3) and moment (n, 3) as functions of time."""
    times = np.arange(int(2 * rate)) / rate
    force, moment = wrench(times)
    corners = np.full((1, 4, 3), np.nan)
    return force_trial(
        RawForces(("p",), times, rate, corners, np.zeros(1), force[:, None], moment[:, None], "made", ())
    )


def ramp(times):
    """A force that grows from 100 N by 200 N a second at (0.2, 0, 0.1)."""
    force = np.stack([0.0 * times, 100.0 + 200.0 * times, 0.0 * times], axis=1)
    return force, np.cross([0.2, 0.0, 0.1], force)


@pytest.mark.parametrize("rate", [450.0, 1000.0, 2000.0])
def test_forces_arrive_at_the_markers_times_with_the_stated_delay(rate):
    """Protects pairing: no delay by interpolation, half the span by the mean over a frame."""
    trial, times = made(rate, ramp), 0.1 + np.arange(150) / 100.0
    feet = np.tile(
        np.array([[[0.1, 0.03, 0.1], [0.35, 0.03, 0.1]], [[5.0, 0.03, 0.0], [5.2, 0.03, 0.0]]]),
        (150, 1, 1, 1),
    )
    for before, delay in ((0.0, 0.0), (0.01, 0.005)):
        loads = plate_loads(trial, times, feet, before=before)
        assert loads.delay == pytest.approx(delay)
        np.testing.assert_allclose(loads.force[:, 0, 1], 100.0 + 200.0 * (times - delay), atol=1e-9)
        np.testing.assert_allclose(loads.centre[:, 0], np.tile([0.2, 0.0, 0.1], (150, 1)), atol=1e-9)
        assert (loads.share == [[BEARS, 0]]).all()
        np.testing.assert_allclose(loads.foot_force[:, RIGHT], loads.force[:, 0])
        assert not loads.foot_force[:, LEFT].any()


def test_a_frame_before_or_after_the_forces_has_none():
    """Protects forces that start late or stop: such frames are not measured, nor are the feet."""
    trial = made(1000.0, ramp)
    feet = np.tile(np.array([[[0.1, 0.03, 0.1], [0.35, 0.03, 0.1]]]), (3, 1, 1, 1))
    loads = plate_loads(trial, np.array([-0.1, 0.5, 2.5]), feet)
    assert np.isnan(loads.force[[0, 2]]).all()
    assert np.isnan(loads.foot_force[[0, 2]]).all()
    assert np.isfinite(loads.foot_force[1]).all()
    assert np.isnan(at_times(trial, np.array([-0.1]))).all()


def recorded(shared: Path, markers: str, forces: str) -> PlateLoads:
    if not ((shared / "data" / markers).is_file() and (shared / "data" / forces).is_file()):
        pytest.skip(f"{markers} is not there")
    trial = read_markers(shared / "data" / markers)
    return plate_loads(
        read_forces(shared / "data" / forces), trial.times, foot_lines(trial, find_lab(trial.names))
    )


# markers, forces: least share of the loaded frames with one foot that have the centre of pressure under it,
# frames with two feet, the foot that bears each plate ("" = none)
WALKS = {
    "bmc 1": ("gait_bmc/walk1.trc", "gait_bmc/walk1.forces", 1.0, 0, ("", "", "L", "R", "R", "L", "")),
    "bmc 2": ("gait_bmc/walk2.trc", "gait_bmc/walk2.forces", 1.0, 14, ("", "", "R", "", "L", "R", "")),
    "lenhart": (
        "gait_lenhart/overground_17.trc", "gait_lenhart/overground_17_grf.mot", 1.0, 0, ("L", "R", "L"),
    ),
    "opensim": (
        "gait_opensim/gait2354/subject01_walk1.trc", "gait_opensim/gait2354/subject01_walk1_grf.mot", 1.0, 0,
        ("R", "L"),
    ),
    "opencap static": ("squat_opencap/static1.trc", "squat_opencap/static1_grf.mot", 1.0, 0, ("R", "L", "")),
    "opencap squats": ("squat_opencap/squats1.trc", "squat_opencap/squats1_grf.mot", 1.0, 0, ("R", "L", "")),
    "opencap walk": ("squat_opencap/walking1.trc", "squat_opencap/walking1_grf.mot", 1.0, 0, ("R", "L")),
    **{
        f"mcgill {name}": (f"gait_mcgill/{name}.c3d", f"gait_mcgill/{name}.c3d", 1.0, 0, ("L", "R"))
        for name in ("HC002D_straight", "HC030A_straight", "HC030A_turn")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WALKS))
def test_the_centre_of_pressure_is_under_the_foot(name, shared):
    """Real recordings: units, axes, signs and pairing of markers and forces, all at once."""
    markers, forces, least, n_two, bearers = WALKS[name]
    loads = recorded(shared, markers, forces)
    two = (loads.status & TWO_FEET) != 0
    one = (loads.loaded == LOADED) & ~two
    under = (loads.share == BEARS).any(axis=2)
    assert two.sum() == n_two
    assert under[one].mean() >= least
    for p, letters in enumerate(bearers):
        borne = {letter for f, letter in enumerate("RL") if (loads.share[:, p, f] == BEARS).any()}
        assert borne == set(letters)


def test_sitting_and_standing_up(shared):
    """A real chair: below 60 N the centre of pressure wanders off the feet, no farther than a plate's error
    of moments lets it; above it is under them, and the feet keep their plates."""
    loads = recorded(shared, "squat_opencap/STS1.trc", "squat_opencap/STS1_grf.mot")
    trial = read_markers(shared / "data" / "squat_opencap/STS1.trc")
    feet = foot_lines(trial, find_lab(trial.names))
    for p, f in ((0, 0), (1, 1)):
        rows = np.flatnonzero(loads.loaded[:, p] == LOADED)
        assert (loads.share[rows, p, f] == BEARS).mean() > 0.98
        assert (loads.share[rows, p, 1 - f] == BEARS).sum() <= 4  # of 1204, at 21 to 23 N
        pressing = loads.force[rows, p, 1]
        away = distances(loads.centre[rows, p], feet[rows], LEVEL).min(axis=1)
        assert (away[pressing < 60.0] > 0.06).any()
        assert (away[pressing >= 60.0] <= 0.06).all()
        assert ((away - 0.06) * pressing).max() <= 2.5


@pytest.mark.parametrize(("name", "newtons"), [("HC002D_static", 304.8), ("HC030A_static", 449.6)])
def test_a_person_who_stands_on_one_plate(name, newtons, shared):
    """Real recordings with both feet on one plate: told in every frame, and no foot's wrench is made up."""
    loads = recorded(shared, f"gait_mcgill/{name}.c3d", f"gait_mcgill/{name}.c3d")
    assert (loads.status[:, 0] == TWO_FEET).all()
    assert np.isnan(loads.foot_force).all()
    assert loads.force[:, 0, 1].mean() == pytest.approx(newtons, abs=0.5)
