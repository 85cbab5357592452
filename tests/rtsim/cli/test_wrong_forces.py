"""Force files that are not those of the feet, as a user has them: told before a run."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.markers.markers import write_trc
from rtsim.files.recording import read_results
from rtsim.live.inputs.sources import load_trial
from rtsim.subjects.made_up.walker_forces import walker_forces

ASIDE = np.array([1.5, 0.0, 0.7])
PLATE = [f"right_force_{k}{x}" for k in "vp" for x in "xyz"] + [f"right_torque_{x}" for x in "xyz"]


@pytest.fixture
def walk(tmp_path):
    """A walk as a TRC file beside which forces are written, with changed columns; points in metres."""
    trial = load_trial("walker", 2.4)
    write_trc(tmp_path / "walk.trc", trial._replace(positions=trial.positions + ASIDE))
    forces = walker_forces(trial)
    loaded = np.isfinite(forces.centre[:, :1, 0])
    point = np.where(loaded, forces.centre[:, 0] + ASIDE, 0.0)
    force = np.where(loaded, forces.force[:, 0], 0.0)
    free = np.where(loaded, forces.free_moment, 0.0) * [0.0, 1.0, 0.0]

    def save(name, change=lambda columns: columns, times=forces.times):
        columns = change(np.column_stack([force, point, free]))
        head = ["walk", "version=1", f"nRows={len(times)}", "nColumns=10", "inDegrees=yes", "endheader"]
        rows = ["\t".join(map(repr, row)) for row in np.column_stack([times, columns]).tolist()]
        (tmp_path / name).write_text("\n".join([*head, "\t".join(["time", *PLATE]), *rows, ""]))
        return ("analyse", "walk.trc", "--subject", "walker", "--mass", "72", "--forces", name)

    save.times = forces.times
    return save


def in_unit(factor):
    return lambda x: np.column_stack([x[:, :3], factor * x[:, 3:6], x[:, 6:]])


def test_units_of_points_and_times_are_told_and_give_the_same(walk, here, tmp_path):
    """Protects the loads of a leg: points in cm, and in m though --units mm is asked for the markers, times
    in ms; each is told, and the results are those of a right file."""
    done = here(*walk("m.mot"), "--out", "m.mcap")
    assert done.code == 0, done.err
    right = read_results(tmp_path / "m.mcap").fields
    assert np.nanmax(right["foot_loads"][:, 0]) > 600.0
    for name, change, times, more, said in (
        ("cm.mot", in_unit(100.0), walk.times, (), "the points were read as cm"),
        (
            "asked.mot",
            in_unit(1.0),
            walk.times,
            ("--units", "mm"),
            "the points cannot be in the unit mm of --units",
        ),
        ("ms.mot", in_unit(1.0), 1e3 * walk.times, (), "milliseconds and converted to seconds"),
    ):
        out = name.replace(".mot", ".mcap")
        done = here(*walk(name, change, times), *more, "--out", out)
        assert done.code == 0, done.err
        assert said in done.err
        found = read_results(tmp_path / out).fields
        for field in ("foot_forces", "foot_moments", "joint_moments"):
            np.testing.assert_allclose(found[field], right[field], atol=1e-6, err_msg=f"{name}: {field}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x[:, [0, 1, 2, 5, 4, 3, 6, 7, 8]], "seem to have X and Z exchanged"),
        (
            lambda x: x + np.array([0, 0, 0, 1, 0, 0, 0, 0, 0]) * (x[:, 1:2] > 0),
            "look displaced: the foot is -",
        ),
    ],
)
def test_points_that_are_elsewhere_end_with_a_fault(walk, here, change, said):
    """Protects from moments of a leg without a load: what is wrong is named, and the exit code is 1."""
    done = here(*walk("odd.mot", change))
    assert done.code == 1
    assert said in done.err
    assert "the results of the force plates cannot be used" in done.err


def test_exchanged_components_are_refused(walk, here):
    """Protects from points that are turned with forces whose vx and vy are exchanged."""
    done = here(*walk("vxvy.mot", lambda x: x[:, [1, 0, 2, 3, 4, 5, 6, 7, 8]]))
    assert done.code == 1
    assert "the columns vx and vy of right_force seem exchanged" in done.err


def test_a_load_without_a_moment_is_told_as_that(walk, here, tmp_path):
    """Protects mass and units from blame where a plate has gaps: its feet are unknown there."""

    def gap(columns):
        heavy = np.flatnonzero(columns[:, 1] > 0.0)
        columns[heavy[::2], 7] = np.nan
        return columns

    done = here(*walk("gap.mot", gap), "--out", "gap.mcap")
    assert done.code == 0, done.err
    assert "right_force has no moment or no point of application in" in done.err
    assert "check the unit" not in done.err
    assert "kilonewtons" not in done.err
    loads = read_results(tmp_path / "gap.mcap").fields["foot_loads"][:, 0]
    assert not np.nanmax(np.abs(loads)) > 20.0


def test_loads_on_bodies_that_are_no_feet_are_told(walk, here, tmp_path):
    """Protects who trusts applied_to_body: pressure tells which foot bears a plate, and that is said."""
    arguments = walk("m.mot")[:-1]
    force = (
        '<ExternalForce name="a"><applied_to_body>{}</applied_to_body><force_identifier>right_force_v'
        "</force_identifier><point_identifier>right_force_p</point_identifier></ExternalForce>"
    )
    for body, told in (("tibia_r", True), ("calcn_r", False)):
        (tmp_path / "loads.xml").write_text(
            '<OpenSimDocument Version="40000"><ExternalLoads name="x"><objects>'
            f"{force.format(body)}</objects><datafile>m.mot</datafile></ExternalLoads></OpenSimDocument>"
        )
        done = here(*arguments, "loads.xml")
        assert done.code == 0, done.err
        assert (
            f"The forces of the file act on {body}, none of which has the name of a foot" in done.err
        ) == told


def test_help_says_what_units_are_of(here):
    """Protects from a unit for the markers that is taken for the forces: both are named, and moments."""
    for command in ("analyse", "live", "replay"):
        said = " ".join(here(command, "--help").out.split())
        assert "points of --forces, unless the feet show another" in said
        assert "Nm, Ncm, Ndm, Nmm, kNm (such as mm,Nm, or ,Nm alone)" in said


def test_a_refusal_names_a_label_that_occurs_twice(here, tmp_path):
    """Protects the search for what is wrong: the notes are not printed where a run is refused."""
    trial = load_trial("walker", 0.5)
    at, other = trial.names.index("RKNE"), trial.names.index("RASI")
    names = (*trial.names[:at], "RKNE", *trial.names[at:])
    positions = np.insert(trial.positions, at, trial.positions[:, other] + 0.05, axis=1)
    write_trc(tmp_path / "both.trc", trial._replace(names=names, positions=positions))
    renamed = tuple("RKNE" if name == "RANK" else name for name in trial.names)
    write_trc(tmp_path / "one.trc", trial._replace(names=renamed))
    write_trc(tmp_path / "walk.trc", trial)
    for name, why in (("both.trc", "mm apart across the knee"), ("one.trc", "malleolus_lateral (RANK)")):
        for command in (("analyse", name), ("calibrate", name), ("analyse", "walk.trc", "--static", name)):
            done = here(*command)
            assert done.code == 1
            assert why in done.err
            assert "the name 'RKNE' occurs more than once" in done.err, command
