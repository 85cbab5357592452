"""Every real recording next to the project: counts, rates, units, gaps, and people who stand upright."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.files.markers.markers import MarkerTrial, read_markers
from rtsim.files.markers.natural import read_natural
from rtsim.files.tables.storage import read_storage

# file: frames, markers, rate [Hz], an ASIS and an ankle or heel marker, markers with gaps and how many
TRIALS: dict[str, tuple[int, int, float, str, str, dict[str, int]]] = {
    "gait_bmc/walk1.trc": (364, 28, 150.0, "R.ASIS", "R.Ankle", {}),
    "gait_lenhart/overground_17.trc": (515, 40, 200.0, "R.ASIS", "R.Ankle", {}),
    "gait_lenhart/static1.trc": (1204, 50, 200.0, "R.ASIS", "R.Ankle", {}),
    "gait_mcgill/HC002D_static.c3d": (51, 65, 100.0, "RASI", "RANK", {}),
    "gait_mcgill/HC002D_straight.c3d": (255, 59, 100.0, "RASI", "RANK", {"LBHD": 12}),
    "gait_mcgill/HC030A_static.c3d": (300, 65, 100.0, "RASI", "RANK", {}),
    "gait_mcgill/HC030A_straight.c3d": (197, 59, 100.0, "RASI", "RANK", {}),
    "gait_mcgill/HC030A_turn.c3d": (512, 59, 100.0, "RASI", "RANK", {}),
    "gait_opensim/gait2354/subject01_static.trc": (300, 49, 60.0, "R.ASIS", "R.Ankle.Lat", {}),
    "gait_opensim/gait2354/subject01_walk1.trc": (151, 41, 60.0, "R.ASIS", "R.Heel", {}),
    "gait_opensim/gait2392/subject01_static.trc": (300, 49, 60.0, "R.ASIS", "R.Ankle.Lat", {}),
    "gait_opensim/gait2392/subject01_walk1.trc": (151, 41, 60.0, "R.ASIS", "R.Heel", {}),
    "squat_opencap/STS1.trc": (1399, 51, 100.0, "r.ASIS", "r_ankle", {}),
    "squat_opencap/squats1.trc": (1346, 51, 100.0, "r.ASIS", "r_ankle", {}),
    "squat_opencap/static1.trc": (517, 55, 100.0, "r.ASIS", "r_ankle", {}),
    "squat_opencap/walking1.trc": (
        131, 51, 100.0, "r.ASIS", "r_ankle", {"r_thigh5": 121, "r_thigh3": 3, "L_HJC": 1},
    ),
}  # fmt: skip


def trial_of(shared: Path, name: str) -> MarkerTrial:
    if not (shared / name).is_file():
        pytest.skip(f"{name} is not there")
    return read_markers(shared / name)


def gaps_of(trial: MarkerTrial) -> dict[str, int]:
    """Missing frames of every marker that has any."""
    counts = np.isnan(trial.positions).any(axis=2).sum(axis=0)
    return {name: int(count) for name, count in zip(trial.names, counts, strict=True) if count}


def check_upright(trial: MarkerTrial, asis: str, ankle: str) -> None:
    height = trial.positions[:, trial.names.index(asis), 1] - trial.positions[:, trial.names.index(ankle), 1]
    assert 0.4 < np.nanmedian(height) < 1.1


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_gait_and_squat_trials(shared, name):
    """Frames, markers, rate, gaps and posture of each trial are what its source says."""
    n_frame, n_marker, rate, asis, ankle, gaps = TRIALS[name]
    trial = trial_of(shared, name)
    assert trial.positions.shape == (n_frame, n_marker, 3)
    assert trial.rate == pytest.approx(rate)
    np.testing.assert_allclose(np.diff(trial.times), 1.0 / rate, rtol=1e-6)
    assert gaps_of(trial) == gaps
    check_upright(trial, asis, ankle)
    assert np.nanmin(trial.positions[..., 1]) > -0.05
    assert any("up" in note for note in trial.notes)


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_sides(shared, name):
    """In walk1 of gait_bmc right and left lie on each other's side, which is told; in no other trial."""
    doubted = any("check the sides" in note for note in trial_of(shared, name).notes)
    assert doubted == (name == "gait_bmc/walk1.trc")


@pytest.mark.parametrize(("name", "n_frame"), [("gait_bmc/walk.trc", 184), ("gait_bmc/walk2.trc", 251)])
def test_empty_virtual_columns_are_kept(shared, name, n_frame):
    """27 V_ columns without data stay as NaN markers; the measured ones have no gap."""
    trial = trial_of(shared, name)
    assert trial.positions.shape == (n_frame, 55, 3)
    gaps = gaps_of(trial)
    assert len(gaps) == 27
    assert set(gaps.values()) == {n_frame}
    assert all(marker.startswith("V_") for marker in gaps)
    check_upright(trial, "R.ASIS", "R.Ankle")


def test_ghosts_and_wild_outputs(shared):
    """The turning trial with five ghosts keeps its skin markers only, all inside the laboratory."""
    trial = trial_of(shared, "gait_mcgill/HC030A_turn.c3d")
    assert any("*179, *180, *181, *182, *183" in note for note in trial.notes)
    assert np.abs(trial.positions).max() < 5.0
    assert trial.times[0] == pytest.approx(1.25)
    assert trial.subject["RKneeWidth"] == pytest.approx(0.104)
    assert trial.subject["LLegLength"] == pytest.approx(0.83)
    assert trial.subject["Bodymass"] == pytest.approx(45.8, abs=1e-4)


def test_virtual_joint_centre_lies_in_the_pelvis(shared):
    """A computed hip centre, kept on request, lies below and near its ASIS: units and axes are the same."""
    path = shared / "gait_mcgill/HC030A_static.c3d"
    if not path.is_file():
        pytest.skip("not there")
    trial = read_markers(path, virtual=True)
    down = trial.positions[:, trial.names.index("RASI")] - trial.positions[:, trial.names.index("RHJC")]
    assert 0.03 < np.median(down[:, 1]) < 0.12
    assert np.linalg.norm(down, axis=1).max() < 0.2


def test_c3d_with_gaps(shared):
    """54 to 386 missing frames in all markers but two; joint centres are not markers."""
    trial = trial_of(shared, "format_edge_cases/c3d_gaps/test_walking.c3d")
    assert trial.positions.shape == (806, 34, 3)
    assert trial.rate == 250.0
    gaps = gaps_of(trial)
    assert len(gaps) == 32
    assert (min(gaps.values()), max(gaps.values())) == (54, 386)
    assert len(read_markers(Path(trial.source), virtual=True).names) == 40


EDGES: dict[str, tuple[tuple[int, int], float, float, int]] = {
    # file: shape, rate [Hz], first coordinate that is known [m], missing markers over all frames
    "dataWithBlanksForMissingMarkers.trc": ((464, 40), 250.0, 4.302329, 15005),
    "dataWithEformat.trc": ((5, 14), 119.88012, -0.273, 0),
    "dataWithNaNsOfDifferentCases.trc": ((5, 14), 250.0, 0.175798, 5),
    "dataWithNaNsWithSpaces.trc": ((427, 42), 100.0, 1.009527, 22),
    "exampleFormat.trc": ((5, 3), 100.0, -0.152, 2),
    "std_walking5_markers.trc": ((112, 40), 25.0, 4.2838, 2077),
}


@pytest.mark.parametrize("name", sorted(EDGES))
def test_trc_edge_cases(shared, name):
    """Blanks, NaN of every case, padded NaN, exponents and doubled tabs: shape, values and gaps."""
    path = shared / "format_edge_cases/trc_edge" / name
    if not path.is_file():
        pytest.skip("not there")
    shape, rate, first, n_missing = EDGES[name]
    trial = read_markers(path, up="Y")
    assert trial.positions.shape == (*shape, 3)
    assert trial.rate == pytest.approx(rate)
    assert sum(gaps_of(trial).values()) == n_missing
    assert trial.positions[np.isfinite(trial.positions)][0] == pytest.approx(first, abs=1e-6)


def test_same_walk_with_blanks_and_with_nan(shared):
    """Two exports of one laboratory, one Z-up with blanks and one with NaN, both stand upright."""
    for name in ("dataWithBlanksForMissingMarkers.trc", "std_walking5_markers.trc"):
        trial = trial_of(shared, f"format_edge_cases/trc_edge/{name}")
        pelvis = trial.positions[:, trial.names.index("RPSI"), 1]
        foot = trial.positions[:, trial.names.index("RCAL"), 1]
        assert 0.8 < np.nanmedian(pelvis) < 1.2
        assert 0.0 < np.nanmedian(foot) < 0.3


@pytest.mark.parametrize("part", ["2D", "3D"])
def test_stoop_lifts(shared, part):
    """Files that do not declare an up axis are turned upright by their marker names."""
    paths = sorted((shared / "stoop_lift/VUA2UHEI" / part).glob("*.c3d"))
    if not paths:
        pytest.skip("not there")
    frames = {"neu": 101, "stoop1": 181, "stoop2": 196, "stoop3": 200}
    for path in paths:
        trial = read_markers(path)
        assert trial.positions.shape == (frames[path.name.split("_")[0]], 38, 3)
        assert trial.rate == 50.0
        assert gaps_of(trial) == {}
        check_upright(trial, "RASI", "RANK")


def test_natural_cycle(shared):
    """One cycle: unit directions, markers near their segments, pelvis above the foot."""
    path = shared / "gait_dumas/dumas_gait_bsd3.npz"
    if not path.is_file():
        pytest.skip("not there")
    trial = read_natural(path)
    assert trial.Q.shape == (131, 48)
    assert trial.markers.positions.shape == (131, 14, 3)
    for start in range(0, 48, 12):
        np.testing.assert_allclose(np.linalg.norm(trial.Q[:, start : start + 3], axis=1), 1.0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(trial.Q[:, start + 9 : start + 12], axis=1), 1.0, atol=1e-6)
    pelvis, foot = trial.markers.positions[:, 10:], trial.markers.positions[:, :3]
    assert 0.7 < np.median(pelvis[..., 1].mean(axis=1) - foot[..., 1].mean(axis=1)) < 1.2


STORAGE: dict[str, tuple[int, int, bool, float]] = {
    # file: rows, columns, in degrees, step [s]
    "gait_lenhart/overground_17_grf.mot": (5150, 28, False, 0.0005),
    "gait_opensim/gait2354/subject01_walk1_grf.mot": (1501, 19, True, 1 / 600),
    "gait_opensim/gait2392/subject01_walk1_grf.mot": (1501, 19, True, 1 / 600),
    "squat_opencap/STS1_grf.mot": (1399, 28, False, 0.01),
    "squat_opencap/ref_STS1_ik.mot": (1399, 34, False, 0.01),
    "squat_opencap/ref_squats1_ik.mot": (1346, 34, False, 0.01),
    "squat_opencap/squats1_grf.mot": (1346, 28, False, 0.01),
    "squat_opencap/static1_grf.mot": (517, 28, False, 0.01),
    "squat_opencap/walking1_grf.mot": (131, 19, False, 0.01),
}


@pytest.mark.parametrize("name", sorted(STORAGE))
def test_storage_files(shared, name):
    """Rows, columns, degrees and time step of every force and angle file."""
    path = shared / name
    if not path.is_file():
        pytest.skip("not there")
    n_row, n_column, in_degrees, step = STORAGE[name]
    table = read_storage(path)
    assert table.data.shape == (n_row, n_column)
    assert table.columns[0] == "time"
    assert table.in_degrees is in_degrees
    assert np.isfinite(table.data).all()
    np.testing.assert_allclose(np.diff(table.column("time")).mean(), step, rtol=1e-3)
    if name.startswith("squat_opencap/ref_"):
        assert 0.0 < table.column("knee_angle_r").max() < 2.5
