"""Units, axes and times of force files, judged by the feet of the same recording."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.forces.forces import read_forces
from rtsim.files.markers.trial import MarkerTrial

RATE, N = 100.0, 200
LABELS = [
    f"{k}_ground_{what}{axis}" for k in (1, 2) for what in ("force_v", "force_p", "torque_") for axis in "xyz"
]
METRE = {"m": 1.0, "cm": 100.0, "mm": 1000.0, "in": 1.0 / 0.0254}
POINTS, FORCES, TORQUES = (np.arange(k, k + 3) + np.array([[0], [9]]) for k in (3, 0, 6))


def walk(at: float = 2.0, belt: bool = False) -> tuple[MarkerTrial, np.ndarray]:
    """A right and a left step, from `at` [m] on, or on a belt there; and rows (n, 18) of their plates."""
    times = np.arange(N) / RATE
    positions, rows = np.zeros((N, 5, 3)), np.zeros((N, 18))
    positions[:, 4] = [at, 1.0, 0.5]
    for k, side in enumerate((0.1, -0.1)):
        stands = slice(k * N // 2, (k + 1) * N // 2)
        heel = np.full(N, at + 0.6 * k) - (0.8 * times if belt else 0.0)
        positions[:, 2 * k] = np.stack([heel, np.full(N, 0.04), np.full(N, 0.5 + side)], axis=1)
        positions[:, 2 * k + 1] = positions[:, 2 * k] + [0.2, -0.02, 0.0]
        share = np.linspace(0.0, 1.0, N // 2)[:, None]
        point = (1.0 - share) * positions[stands, 2 * k] + share * positions[stands, 2 * k + 1]
        point[:, 1] = 0.0
        rows[stands, 9 * k : 9 * k + 3] = [20.0, 700.0, -10.0]
        rows[stands, 9 * k + 3 : 9 * k + 6] = point
        rows[stands, 9 * k + 7] = 5.0
    names = ("RHEE", "RTOE", "LHEE", "LTOE", "SACR")
    return MarkerTrial(names, times, positions, RATE, "made up"), rows


@pytest.fixture
def saved(tmp_path):
    """Writes rows (n, 18) as a force file; times [s]."""

    def save(rows, times=None):
        times = np.arange(len(rows)) / RATE if times is None else times
        head = ["grf", "version=1", f"nRows={len(rows)}", "nColumns=19", "inDegrees=yes", "endheader"]
        lines = ["\t".join(f"{x:.9g}" for x in (t, *row)) for t, row in zip(times, rows, strict=True)]
        path = tmp_path / "grf.mot"
        path.write_text("\n".join([*head, "\t".join(["time", *LABELS]), *lines, ""]), encoding="utf-8")
        return path

    return save


def same(found, right):
    np.testing.assert_allclose(found.force, right.force, atol=1e-6)
    np.testing.assert_allclose(found.moment, right.moment, atol=1e-5)
    np.testing.assert_allclose(found.times, right.times, atol=1e-9)


@pytest.mark.parametrize("unit", sorted(METRE))
@pytest.mark.parametrize("place", [{}, {"at": -0.2, "belt": True}, {"at": 40.0}])
def test_points_in_another_unit_are_those_under_the_feet(saved, unit, place):
    """Protects a leg from having no load: points in cm, mm or inches, far from the origin and on a belt."""
    trial, rows = walk(**place)
    right = read_forces(saved(rows))
    rows[:, POINTS.ravel()] *= METRE[unit]
    found = read_forces(saved(rows), markers=trial)
    same(found, right)
    assert any(f"read as {unit}" in note for note in found.notes) == (unit != "m")


@pytest.mark.parametrize("asked", ["mm", "cm", "mm,Nm"])
def test_a_unit_that_is_asked_for_the_markers_is_not_that_of_the_points(saved, asked):
    """Protects forces in metres beside markers of which --units tells the unit: told, and read in metres."""
    trial, rows = walk()
    found = read_forces(saved(rows), units=asked, markers=trial)
    same(found, read_forces(saved(rows)))
    said = f"the points cannot be in the unit {asked.partition(',')[0]} of --units"
    assert any(said in note and "read as m" in note for note in found.notes), found.notes


def test_a_unit_is_kept_where_nothing_says_another(saved):
    """Protects from units that fit by chance: plates a metre beside, exchanged axes, one who is at the origin
    whatever the unit, and markers of another time."""
    trial, rows = walk(at=-0.1, belt=True)
    beside = rows.copy()
    beside[:, POINTS[:, 0]] += 1.0
    exchanged = rows.copy()
    exchanged[:, POINTS[:, [0, 2]].ravel()] = rows[:, POINTS[:, [2, 0]].ravel()]
    still = rows.copy()
    still[:, POINTS.ravel()] *= 1e-3
    for changed in (beside, exchanged, still):
        assert not any("read as" in note for note in read_forces(saved(changed), markers=trial).notes)
    later = trial._replace(times=trial.times + 100.0)
    assert not any(
        "read as" in note for note in read_forces(saved(100.0 * rows / 100.0), markers=later).notes
    )


def test_one_leg_alone_tells_the_unit(saved):
    """Protects recordings of one marked leg: half of the points are under a foot that is not seen."""
    trial, rows = walk()
    alone = trial._replace(names=trial.names[:2], positions=trial.positions[:, :2])
    right = read_forces(saved(rows))
    rows[:, POINTS.ravel()] *= 100.0
    found = read_forces(saved(rows), markers=alone)
    same(found, right)
    assert any("read as" in note for note in found.notes)


def test_an_up_axis_that_is_asked_for_the_markers_is_not_that_of_the_forces(saved):
    """Protects forces with Y up beside markers with Z up: along which axis they act goes before --up."""
    trial, rows = walk()
    found = read_forces(saved(rows), up="Z", markers=trial)
    same(found, read_forces(saved(rows)))
    assert any("the up axis +Z of --up does not fit the forces:" in note for note in found.notes)


def test_exchanged_components_of_the_force_are_refused(saved):
    """Protects from a file that is turned as vx and vy are exchanged: its points lie level as they are."""
    _, rows = walk()
    for columns, who in (
        (FORCES[:, [0, 1]], "1_ground_force, 2_ground_force"),
        (FORCES[:1, [0, 1]], "1_ground_force"),
    ):
        changed = rows.copy()
        changed[:, columns[:, 0]], changed[:, columns[:, 1]] = rows[:, columns[:, 1]], rows[:, columns[:, 0]]
        if len(columns) == 1:
            changed[:, FORCES[1]] *= 0.1  # the other plate bears too little to tell
        for up in (None, "Y", "Z"):
            with pytest.raises(ConfigError, match=f"vx and vy of {who} seem exchanged; exchange these"):
                read_forces(saved(changed), up=up)
        assert "up axis: +X, as requested by --up" in read_forces(saved(changed), up="X").notes


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e6, "microseconds")])
@pytest.mark.parametrize("step", [0.01, 0.0002])
def test_times_in_milliseconds_are_told(saved, factor, unit, step):
    """Protects from one sample for a whole walk: plates are never so slow, nor a thousand times as long."""
    trial, rows = walk()
    times = step * np.arange(N)
    markers = trial._replace(times=times)
    found = read_forces(saved(rows, factor * times), markers=markers)
    np.testing.assert_allclose(found.times, times, atol=1e-9)
    assert any(unit in note for note in found.notes)
    plain = read_forces(saved(rows, times), markers=markers)
    assert not any("seconds" in note for note in plain.notes)


def test_a_point_of_zeros_under_a_load_is_missing(saved):
    """Protects from pressure at the origin: some programs write 0, 0, 0 for a point that they do not know."""
    trial, rows = walk()
    rows[20:50, POINTS.ravel()] = 0.0
    found = read_forces(saved(rows), markers=trial)
    assert np.isnan(found.force[20:50, 0]).all()
    assert np.isfinite(found.force[50:]).all()
    assert any(
        "point of 1_ground_force is exactly 0, 0, 0 in 30 of 100 loaded samples" in note
        for note in found.notes
    )
    rows[:, POINTS.ravel()] = 0.0
    with pytest.raises(ConfigError, match="0, 0, 0 throughout; export the points"):
        read_forces(saved(rows))


def test_a_force_of_zeros_for_an_instant_is_missing(saved):
    """Protects a foot from bearing nothing in mid-stance: samples that were lost are written as zeros by
    some; a leap between two steps on one plate is none."""
    _, rows = walk()
    lost, leapt = rows.copy(), rows.copy()
    lost[40:42, :9] = 0.0
    leapt[40:50, :9] = 0.0
    found = read_forces(saved(lost))
    assert np.flatnonzero(np.isnan(found.force[:, 0, 1])).tolist() == [40, 41]
    assert (
        "1_ground_force is at exactly 0 in 2 samples between loads of more than 200 N; these samples were "
        "treated as missing" in [note for note in found.notes if "at exactly 0" in note]
    )
    assert np.isfinite(read_forces(saved(leapt)).force).all()


@pytest.mark.parametrize("columns", [POINTS, TORQUES, POINTS[:, :1]])
def test_a_loaded_plate_without_point_or_moment_is_told_by_name(saved, columns):
    """Protects from gaps that look like forces of another unit: which plate lacks what, and how often."""
    _, rows = walk()
    rows[10:40, columns.ravel()] = np.nan
    found = read_forces(saved(rows))
    assert np.isnan(found.force[10:40, 0]).all()
    assert np.isfinite(found.force[:, 1]).all()
    (said,) = [note for note in found.notes if "1_ground_force has no moment" in note]
    assert "in 30 of 100 samples with a load" in said
    assert not any("2_ground_force has no moment" in note for note in found.notes)
