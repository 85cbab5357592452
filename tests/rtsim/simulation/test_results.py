"""Results of a run: every quantity under its name, in its unit, from the right place; and as files."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.recording import read_results
from rtsim.files.tables.export import export
from rtsim.files.tables.outputs import check_outputs, write
from rtsim.files.tables.storage import read_storage
from rtsim.report.simulation import summary, text
from rtsim.simulation.load import load_simulator
from rtsim.simulation.panels import N_AROUND, first_stick, panels_of
from rtsim.simulation.results import largest, outside, results_of, specs_of
from rtsim.simulation.run import run
from streams.messages import Status
from tests.rtsim.simulation.loose import MODEL

UNITS = {
    "joint_angles": "rad", "joint_displacements": "m", "joint_angle_speeds": "rad/s",
    "joint_displacement_speeds": "m/s", "joint_positions": "m", "joint_quaternions": "1",
    "joint_velocities": "m/s", "joint_turning": "rad/s", "ligament_forces": "N", "ligament_lengths": "m",
    "ligament_ends": "m", "spring_forces": "N", "spring_lengths": "m", "spring_ends": "m",
    "joint_centres": "m", "segment_positions": "m", "segment_rotations": "1",
    "contact_normal_forces": "N",
    "contact_friction_forces": "N", "contact_sliding": "m/s", "contact_depths": "m", "contact_places": "m",
    "friction_forces": "N", "friction_sliding": "m/s", "step_error": "1",
}  # fmt: skip
SLIDER = """
name = "sledge"
source = "made up"
[[bodies]]
name = "sledge"
joint = "slider"
axis = "u"
coordinates = [{ name = "way" }]
mass_kg = 2.0
[[frictions]]
name = "snow"
a = { segment = "sledge" }
b = "ground"
direction = [1.0, 0.0, 0.0]
load_N = 20.0
friction = { static = 0.5, dynamic = 0.5 }
[simulation]
duration_s = 0.1
step_ms = 1.0
method = "ros34pw2"
kinks = "secant"
speeds = { way = 250.0 }
"""


@pytest.fixture
def results(loose):
    """The results of the loose model."""
    return results_of(*loose)


@pytest.fixture
def fields(results):
    """Their values by name."""
    return results.fields


def test_every_quantity_is_there_with_its_unit(results):
    """Protects the descriptor: what the model has and nothing else, SI units, labels of the right things."""
    specs = specs_of(results)
    assert {name: spec.unit for name, spec in specs.items()} == UNITS
    assert all(spec.meaning for spec in specs.values())
    labels = {name: spec.labels for name, spec in specs.items()}
    assert labels["joint_angles"] == labels["joint_angle_speeds"] == ("swing",)
    assert labels["joint_displacements"] == ("position",)
    assert (labels["joint_positions"], labels["joint_quaternions"]) == (("ball",), ("bob", "ball"))
    assert (labels["ligament_forces"], labels["spring_forces"]) == (("band",), ("cord",))
    assert (labels["contact_depths"], labels["contact_sliding"]) == (("floor", "wall"), ("floor",))


def test_the_start_is_as_the_model_says(fields):
    """Protects the places in q and v: what the file says of the start comes out under the same name."""
    first = {name: values[0] for name, values in fields.items()}
    np.testing.assert_allclose(np.degrees(first["joint_angles"]), [20.0])
    np.testing.assert_allclose(np.degrees(first["joint_angle_speeds"]), [90.0])
    np.testing.assert_allclose(first["joint_displacement_speeds"], [0.1])
    np.testing.assert_allclose(first["joint_velocities"], [[0.5, 0.0, 0.0]])
    np.testing.assert_allclose(np.degrees(first["joint_turning"]), [[0.0, 180.0, 0.0], [0.0, 0.0, 90.0]])
    np.testing.assert_allclose(first["joint_quaternions"], [[1.0, 0.0, 0.0, 0.0]] * 2)
    np.testing.assert_allclose(first["friction_sliding"], [0.1])
    # the ball turns backwards about its centre, so that its lowest point is faster
    np.testing.assert_allclose(first["contact_sliding"][0, 0], 0.5 + 0.5 * np.pi * 0.0489, rtol=1e-2)


def test_forces_agree_with_their_laws(fields):
    """Protects the columns of forces: dynamic friction under the load, a springs's tension by its length."""
    np.testing.assert_allclose(fields["friction_forces"][0], [-0.15 * 9.81], rtol=1e-3)
    cord = fields["spring_lengths"][:, 0]
    np.testing.assert_allclose(fields["spring_forces"][:, 0], 100.0 * (cord - 0.05))
    ends = fields["spring_ends"][:, 0]
    np.testing.assert_allclose(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1), cord)
    depth, force = fields["contact_depths"], fields["contact_normal_forces"]
    assert ((depth > 0.0) == (force > 0.0)).all()
    friction = np.linalg.norm(fields["contact_friction_forces"][:, 0], axis=1)
    assert (friction <= 0.2 * force[:, 0] + 1e-12).all()
    assert friction.max() > 0.0


def test_what_does_not_touch_has_no_place(fields):
    """Protects readers: the far wall has a gap, no force, and no place at zero."""
    places = fields["contact_places"]
    assert np.isnan(places[:, 1]).all()
    assert np.isfinite(places[:, 0]).all()
    assert (fields["contact_depths"][:, 1] < -0.5).all()


def test_bodies_lie_where_their_joints_put_them(fields):
    """Protects the stick figure: the slider's body along its axis, the free one from its joint's frame."""
    block, ball = fields["segment_positions"][:, 0], fields["segment_positions"][:, 3]
    np.testing.assert_allclose(block[:, 0], fields["joint_displacements"][:, 0], atol=1e-15)
    np.testing.assert_allclose(ball, fields["joint_positions"][:, 0] + [0.0, 0.049, 0.3], atol=1e-15)
    turns = fields["segment_rotations"]
    np.testing.assert_allclose(
        turns @ turns.transpose(0, 1, 3, 2), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12
    )


def test_largest_values_and_ranges(loose, results, fields):
    """Protects the summary: the peak with its time, vectors by their length, and who left his range when."""
    simulator, done = loose
    force = fields["contact_normal_forces"][:, 0]
    assert largest(results, "contact_normal_forces")["floor"] == (
        force.max(),
        done.times[force.argmax()],
    )
    friction = np.linalg.norm(fields["contact_friction_forces"][:, 0], axis=1)
    assert largest(results, "contact_friction_forces")["floor"][0] == friction.max()
    beyond = done.times[done.trace.q[:, 0] > 0.002][0]
    assert outside(simulator, done) == [
        f"position leaves its range at {beyond:g} s; in a simulation only forces keep a coordinate "
        "in its range"
    ]


def test_the_summary_tells_the_run(loose, results):
    """Protects the figures that are printed: units of both faces, what was done, what never acts."""
    simulator, done = loose
    told = summary(simulator, done, results)
    assert (told["outcome"], told["steps"], told["rows"]) == ("finished", 50, 14)
    assert told["final"]["swing"]["unit"] == "rad"
    assert told["final"]["ball_z"]["value"] == simulator.q[-5]
    assert told["start"] == {"equilibrium": "none"}
    said = text(told)
    assert "loose: finished at 0.05 s, 50 steps of 1 ms by ros34pw2 (kinks of forces: secant)" in said
    assert f"{np.degrees(told['final']['swing']['value']):.3f}" in said
    assert "contact: 1 of 2 elements bear no force at any time" in said
    assert "note: position leaves its range" in said


def test_columns_of_the_tables(results, tmp_path):
    """Protects other programs: OpenSim's header, degrees, metres, one name per column, and the units said."""
    for name in ("a.sto", "a.csv", "a.mot"):
        write(tmp_path / name, results, "loose")
    table = read_storage(tmp_path / "a.sto")
    assert (table.in_degrees, table.name, table.notes) == (True, "loose", ())
    assert table.columns[:5] == (
        "time", "swing", "joint_angle_speeds.swing", "position", "joint_displacement_speeds.position",
    )  # fmt: skip
    assert {
        "ligament_forces.band", "spring_forces.cord", "contact_normal_forces.floor",
        "contact_friction_forces.floor.x", "contact_depths.wall", "friction_forces.belt",
        "joint_quaternions.ball.w",
    } < set(table.columns)  # fmt: skip
    assert read_storage(tmp_path / "a.mot").columns == ("time", "swing", "position", "status")
    np.testing.assert_allclose(table.column("swing")[0], 20.0)
    np.testing.assert_allclose(table.column("joint_angle_speeds.swing")[0], 90.0)
    head = (tmp_path / "a.sto").read_text().split("endheader")[0]
    assert "nRows=14\n" in head
    assert f"nColumns={len(table.columns)}\n" in head
    assert "inDegrees=yes\n" in head
    rows = list(csv.reader((tmp_path / "a.csv").open(newline="")))
    first = ["time [s]", "status [bits]", "joint_angles.swing [deg]", "joint_angle_speeds.swing [deg/s]"]
    assert rows[0][:4] == first
    assert "units: time [s], swing [deg], joint_angle_speeds.swing [deg/s], position [m]" in head
    np.testing.assert_allclose([float(row[4]) for row in rows[1:]], table.column("position"))


def test_names_that_collide_stay_apart(tmp_path):
    """Protects the tables: a coordinate may be called as the force of a ligament is."""
    name = '"ligament_forces.band"'
    taken = MODEL.replace("position =", f"{name} =").replace('"position"', name)
    (tmp_path / "taken.toml").write_text(taken, encoding="utf-8")
    simulator = load_simulator(str(tmp_path / "taken.toml"))
    write(tmp_path / "a.sto", results_of(simulator, run(simulator, 2)), "loose")
    table = read_storage(tmp_path / "a.sto")
    assert table.notes == ()
    same = [c for c in table.columns if c.startswith("ligament_forces.band")]
    assert same == ["ligament_forces.band", "ligament_forces.band_2"]


def test_a_recording_is_read_as_that_of_a_session(loose, tmp_path):
    """Protects the way through export: all fields come back, with times, labels, units and flags."""
    simulator, done = loose
    done.trace.error[3] = 0.2
    path = tmp_path / "a.mcap"
    told = results_of(simulator, done)
    write(path, told, "loose")
    results = read_results(path)
    assert results.notes == ()
    np.testing.assert_allclose(results.times, done.times)
    assert results.session.meta["model"] == "loose"
    assert results.session.rate == pytest.approx(250.0)
    assert ["block", "arm"] in results.session.meta["stick"]
    assert results.session.fields == told.session.fields
    for name, values in told.fields.items():
        np.testing.assert_array_equal(results.fields[name], values)
    assert results.status.tolist() == [Status.DEGRADED if k == 3 else Status.OK for k in range(14)]
    export(path, tmp_path / "b.mot")
    motion = read_storage(tmp_path / "b.mot")
    assert motion.columns == ("time", "swing", "position", "status")
    np.testing.assert_allclose(np.radians(motion.column("swing")), done.trace.q[:, 1], rtol=1e-11)


def test_outputs_are_looked_at_before_the_run(tmp_path):
    """Protects long runs from ending without a file: format, folder, names, no recording overwritten."""
    (tmp_path / "there.mcap").write_text("")
    (tmp_path / "folder.csv").mkdir()
    good = tmp_path / "a.sto"
    for paths, words in (
        ([tmp_path / "a.xls"], "allowed: .mot, .sto, .csv, .mcap"),
        ([good, good], "is given twice"),
        ([tmp_path / "no" / "a.sto"], "there is no folder"),
        ([tmp_path / "folder.csv"], "is a folder"),
        ([tmp_path / "there.mcap"], "exists already"),
    ):
        with pytest.raises(ConfigError) as caught:
            check_outputs(paths)
        assert words in str(caught.value)
    check_outputs([good, tmp_path / "a.csv", tmp_path / "b.mcap"])


def test_no_output_replaces_an_input(tmp_path):
    """Protects recorded forces and motions from the results that are computed from them, by any name."""
    plates, other = tmp_path / "walk.mot", tmp_path / "other.mot"
    for path in (plates, other):
        path.write_text("measured")
    (tmp_path / "link.mot").symlink_to(plates)
    inputs = ("walker", "", None, "tcp://127.0.0.1:1", str(tmp_path / "gone.trc"), str(plates))
    for path in (plates, tmp_path / "link.mot", tmp_path / "a" / ".." / "walk.mot"):
        (tmp_path / "a").mkdir(exist_ok=True)
        with pytest.raises(ConfigError, match="is read by this run, and would be replaced"):
            check_outputs([tmp_path / "new.csv", path], inputs=inputs)
    check_outputs([other, tmp_path / "new.csv"], inputs=inputs)


def test_panels_show_what_the_model_has(loose, results):
    """Protects figures: coordinates that the model names, forces, sliding; nothing for what does nothing."""
    simulator, done = loose
    drawn = panels_of(simulator, done, results)
    assert (
        "angle, angular speed: drawn without swing, which simulation.plot of the model does not name"
        in drawn.left_out
    )
    panels = {(panel.title, panel.unit): panel for panel in drawn.panels}
    assert list(panels) == [
        ("displacement", "mm"), ("position", "mm"), ("speed", "m/s"), ("sliding velocity", "m/s"),
        ("contact normal force", "N"), ("friction", "N"), ("ligament force", "N"), ("spring force", "N"),
    ]  # fmt: skip
    assert list(panels["displacement", "mm"].curves) == ["position"]
    np.testing.assert_array_equal(panels["displacement", "mm"].curves["position"], 1e3 * done.trace.q[:, 0])
    assert list(panels["contact normal force", "N"].curves) == ["floor"]
    assert {panel.x_title for panel in panels.values()} == {"time [s]"}
    over = panels_of(simulator, done, results, "swing").panels
    assert over[0].x_title == "swing [deg]"
    np.testing.assert_allclose(over[0].x, np.degrees(done.trace.q[:, 1]))
    with pytest.raises(ConfigError, match="--over: unknown coordinate 'reach'; allowed: position, swing"):
        panels_of(simulator, done, results, "reach")


def test_the_moment_of_sticking_is_enlarged(tmp_path):
    """Protects the figure of a slip-to-stick transition: a sledge stops where v0 = mu g t says."""
    path = tmp_path / "sledge.toml"
    path.write_text(SLIDER, encoding="utf-8")
    simulator = load_simulator(str(path))
    done = run(simulator, 100)
    results = results_of(simulator, done)
    row = first_stick(simulator, results)
    assert row is not None
    assert done.times[row] == pytest.approx(0.25 * 2.0 / (0.5 * 20.0), abs=2e-3)
    last = panels_of(simulator, done, results).panels[-1]
    assert (last.enlarged, len(last.x), last.x[N_AROUND]) == (True, 2 * N_AROUND + 1, done.times[row])
    early = load_simulator(str(path))
    assert first_stick(early, results_of(early, run(early, 20))) is None


def test_a_contact_that_is_lifted_does_not_stick(loose, results):
    """Protects the enlarged panel: a sledge that is lifted while it slips has no change to sticking."""
    simulator, _ = loose
    sliding = results.fields["contact_sliding"]
    sliding[:], sliding[:5] = np.nan, (1.0, 0.0, 0.0)
    if "friction_sliding" in results.fields:
        results.fields["friction_sliding"][:] = 1.0
    assert first_stick(simulator, results) is None
    sliding[9] = 0.0
    assert first_stick(simulator, results) == 9
