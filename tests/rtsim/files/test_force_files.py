"""Ground reactions of .mot, .sto and .forces files: names, units, axes, signs, gaps."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.plates.plate_contact import EMPTY, LOADED, NOT_MEASURED
from rtsim.errors import ConfigError
from rtsim.files.forces.force_tare import tare
from rtsim.files.forces.forces import read_forces
from rtsim.files.formats import FORCES, listed

FORCE = np.array([30.0, 700.0, -20.0])
POINT = np.array([0.4, 0.0, -0.2])
TORQUE = np.array([0.0, 5.0, 0.0])
STEMS = {
    "ground_force_1_vx": ("ground_force_1_v", "ground_force_1_p", "ground_torque_1_"),
    "1_ground_force_vx": ("1_ground_force_v", "1_ground_force_p", "1_ground_torque_"),
    "ground_force_vx": ("ground_force_v", "ground_force_p", "ground_torque_"),
    "ground_force_r_vx": ("ground_force_r_v", "ground_force_r_p", "ground_moment_r_"),
    "ground_force_2_vx": ("ground_force_2_v", "ground_force_2_p", "ground_force_2_m"),
    "ground_force_3_vx": ("ground_force_3_v", "ground_force_3_p", "ground_moment_3_m"),
    "2_ground_force_vx": ("2_ground_force_v", "2_ground_force_p", "2_ground_moment_m"),
    "R_GROUND_FORCE_VX": ("R_GROUND_FORCE_V", "R_GROUND_FORCE_P", "R_GROUND_TORQUE_"),
}


def text_of(stems, rows, n_row=4, rate=100.0):
    """A storage file of plates with these stems and the numbers (9,) of each."""
    labels = [
        "time",
        *(s + axis for three in stems for s in three for axis in ("xyz" if s[0] != "R" else "XYZ")),
    ]
    lines = ["grf", "version=1", f"nRows={n_row}", f"nColumns={len(labels)}", "inDegrees=yes", "endheader"]
    lines.append("\t".join(labels))
    for index in range(n_row):
        lines.append("\t".join(f"{value:.9g}" for value in (index / rate, *np.ravel(rows))))
    return "\n".join([*lines, ""])


def row(force=FORCE, point=POINT, torque=TORQUE):
    return np.concatenate([force, point, torque])


def check(trial, plate=0):
    np.testing.assert_allclose(trial.force[:, plate], np.tile(FORCE, (len(trial.times), 1)), atol=1e-6)
    np.testing.assert_allclose(trial.centre[:, plate], np.tile(POINT, (len(trial.times), 1)), atol=1e-9)
    np.testing.assert_allclose(trial.free_moment[:, plate], 5.0, atol=1e-6)


@pytest.mark.parametrize("name", sorted(STEMS))
def test_names_of_columns_that_are_in_use(name, write):
    """Protects the ways in which OpenSim's users name the columns of a plate."""
    trial = read_forces(write("grf.mot", text_of([STEMS[name]], [row()])))
    check(trial)
    assert trial.names == (name[:-3],)
    assert trial.rate == pytest.approx(100.0)
    assert np.isnan(trial.corners).all()


@pytest.mark.parametrize("axes", ["xyz", "123"])
@pytest.mark.parametrize("between", ["_", ""])
def test_flattened_tables_of_the_c3d_adapter(axes, between, write):
    """Protects f1_x, p1_x, m1_x and f1_1, p1_1, m1_1 of any plate."""
    stems = [tuple(f"{what}{number}{between}" for what in "fpm") for number in (1, 12)]
    if axes == "123" and not between:
        pytest.skip("f11 could be the first column of plate 1, or of plate 11")
    head, body = text_of(stems, [row(), row()]).split("endheader\n")
    labels, rows = body.split("\n", 1)
    names = labels.split("\t")
    names[1:] = [label[:-1] + axes["xyz".index(label[-1])] for label in names[1:]]
    trial = read_forces(write("grf.sto", f"{head}endheader\n" + "\t".join(names) + "\n" + rows))
    check(trial)
    check(trial, 1)
    assert trial.names == ("plate_1", "plate_12")


LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="x"><objects>{forces}</objects>
<datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"""
LOAD = """<ExternalForce name="r"><applied_to_body>calcn_r</applied_to_body>
<force_identifier>{0}</force_identifier><point_identifier>{1}</point_identifier>
<torque_identifier>{2}</torque_identifier></ExternalForce>"""


def test_columns_are_those_that_external_loads_name(write):
    """Protects identifiers of any spelling, and from plates that no external force names."""
    odd, other = ("Kistler.F", "Kistler.COP", "Kistler.T"), STEMS["ground_force_vx"]
    write("grf.mot", text_of([other, odd], [row(2.0 * FORCE), row()]))
    trial = read_forces(write("loads.xml", LOADS.format(forces=LOAD.format(*odd))))
    check(trial)
    assert trial.names == ("Kistler.F",)
    assert not any("has no moment" in note for note in trial.notes)
    both = LOAD.format(*other) + LOAD.format("Kistler.F", "Kistler.COP", "")
    trial = read_forces(write("loads.xml", LOADS.format(forces=both)))
    assert trial.names == ("ground_force", "Kistler.F")
    assert any("Kistler.F has no moment" in note for note in trial.notes)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (LOAD.format("ground_force_v", "ground_force_p", "moment_"), "0 columns begin with 'moment_'"),
        (LOAD.format("ground_", "ground_force_p", ""), "9 columns begin with 'ground_'"),
        (LOAD.format("ground_force_v", "", ""), "no point_identifier"),
    ],
)
def test_identifiers_that_name_no_columns_are_told(load, said, write):
    """Protects from forces of other columns than those that were meant."""
    write("grf.mot", text_of([STEMS["ground_force_vx"]], [row()]))
    with pytest.raises(ConfigError, match=said):
        read_forces(write("loads.xml", LOADS.format(forces=load)))


ON = '<ExternalForce name="{0}"><applied_to_body>{1}</applied_to_body>{2}</ExternalForce>'


def named(**columns: str) -> str:
    return "".join(f"<{what}_identifier>{said}</{what}_identifier>" for what, said in columns.items())


FIRST = {"force": "1_ground_force_v", "point": "1_ground_force_p", "torque": "1_ground_torque_"}
SECOND = {what: said.replace("1_", "2_") for what, said in FIRST.items()}


@pytest.mark.parametrize(
    ("body", "second", "said"),
    [
        (
            "calcn_l",
            FIRST,
            "force_identifier '1_ground_force_v' on calcn_l is also used by the force on calcn_r",
        ),
        ("calcn_r", FIRST, "on calcn_r is also used by another force on calcn_r"),
        ("calcn_l", {**SECOND, "point": FIRST["point"]}, "point_identifier '1_ground_force_p' on calcn_l"),
        ("calcn_l", {**SECOND, "torque": FIRST["torque"]}, "torque_identifier '1_ground_torque_'"),
        ("calcn_l", {"torque": SECOND["torque"]}, "a moment without a force"),
        ("calcn_l", {}, "the force has no force_identifier, but other forces in the file have one"),
    ],
)
def test_external_loads_that_share_columns_are_refused(body, second, said, write):
    """Protects from a foot that bears nothing: columns of one plate on two feet, or of none."""
    stems = [tuple(FIRST.values()), tuple(SECOND.values())]
    write("grf.mot", text_of(stems, [row(), row()]))
    forces = ON.format("right", "calcn_r", named(**FIRST)) + ON.format("left", body, named(**second))
    with pytest.raises(ConfigError, match="ExternalForce left.*" + said):
        read_forces(write("loads.xml", LOADS.format(forces=forces)))
    forces = ON.format("right", "calcn_r", named(**FIRST)) + ON.format("left", "calcn_l", named(**SECOND))
    assert len(read_forces(write("loads.xml", LOADS.format(forces=forces))).names) == 2


def test_moments_about_the_origin_need_no_points(write):
    """Protects files whose points are 0, 0, 0 on purpose: their moments are about the origin of ground."""
    for point in (POINT, POINT + np.array([6.0, 0.0, 0.0])):
        rows = [row(FORCE, 0.0 * point, np.cross(point, FORCE) + TORQUE)]
        trial = read_forces(write("grf.mot", text_of([STEMS["ground_force_vx"]], rows)))
        np.testing.assert_allclose(trial.centre[0, 0], point, atol=1e-6)
        assert trial.free_moment[0, 0] == pytest.approx(5.0, abs=1e-6)


def test_several_plates_in_any_order_of_columns(write):
    """Protects from forces and moments of different plates in one: torques may stand last, as in OpenSim."""
    first, second = STEMS["ground_force_vx"], STEMS["1_ground_force_vx"]
    other = row(np.array([1.0, 350.0, 2.0]), np.array([1.0, 0.0, 0.3]), np.array([0.0, -1.0, 0.0]))
    text = text_of([first, second], [row(), other])
    lines = text.splitlines()
    order = [0, *range(1, 7), *range(10, 16), *range(7, 10), *range(16, 19)]
    for at in range(6, len(lines)):
        cells = lines[at].split("\t")
        lines[at] = "\t".join(cells[index] for index in order)
    trial = read_forces(write("grf.sto", "\n".join([*lines, ""])))
    check(trial)
    assert trial.names == ("ground_force", "1_ground_force")
    np.testing.assert_allclose(trial.centre[0, 1], [1.0, 0.0, 0.3], atol=1e-9)
    assert trial.free_moment[0, 1] == pytest.approx(-1.0)


def test_another_vertical_is_found_and_told(write):
    """Protects the axes: forces along Z are turned to Y up, right-handed; what is asked for goes before."""
    turn = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])  # from Y up to Z up
    rows = [np.concatenate([turn @ FORCE, turn @ POINT, turn @ TORQUE])]
    path = write("grf.mot", text_of([STEMS["ground_force_vx"]], rows))
    trial = read_forces(path)
    check(trial)
    assert any("+Z was used as the up axis" in note for note in trial.notes)
    check(read_forces(path, up="Z"))


def test_forces_down_are_turned_round(write):
    """Protects the sign of files that hold what the person does to the plates."""
    trial = read_forces(write("grf.mot", text_of([STEMS["ground_force_vx"]], [row(-FORCE, POINT, -TORQUE)])))
    check(trial)
    assert any("point down" in note for note in trial.notes)


def test_points_in_millimetres_are_converted(write):
    """Protects from feet that are 400 m away; moments go by the same unit."""
    path = write("grf.mot", text_of([STEMS["ground_force_vx"]], [row(FORCE, 1e3 * POINT, 1e3 * TORQUE)]))
    trial = read_forces(path)
    check(trial)
    assert any("read as mm" in note for note in trial.notes)
    check(read_forces(path, units="mm"))


@pytest.mark.parametrize(
    ("point_unit", "moment_unit", "asked"), [(1e3, 1.0, "mm,Nm"), (1.0, 1e3, "m,Nmm"), (1e3, 1e3, ",N.mm")]
)
def test_moments_have_a_unit_of_their_own(point_unit, moment_unit, asked, write):
    """Protects the free moment where points are in mm and moments in N m, or the other way round."""
    rows = [row(FORCE, point_unit * POINT, moment_unit * TORQUE)]
    path = write("grf.mot", text_of([STEMS["ground_force_vx"]], rows))
    check(read_forces(path))
    check(read_forces(path, units=asked))
    with pytest.raises(ConfigError, match="'furlong' is not a unit of moments; allowed: Nm"):
        read_forces(path, units="mm,furlong")


def test_a_unit_of_moments_that_no_plate_has_is_refused(write):
    """Protects from moments a thousand times too large where N m is asked for and they are in N mm."""
    path = write("grf.mot", text_of([STEMS["ground_force_vx"]], [row(FORCE, POINT, 1e3 * TORQUE)]))
    with pytest.raises(ConfigError, match=r"the unit Nm of moments in --units is .* of 7\.1"):
        read_forces(path, units="m,Nm")
    check(read_forces(path, units="m,Nmm"))


def test_a_surface_at_another_height_is_that_of_the_points(write):
    """Protects the centre of pressure where a file has it below or above 0."""
    trial = read_forces(
        write("grf.mot", text_of([STEMS["ground_force_vx"]], [row(point=POINT + np.array([0, 0.006, 0]))]))
    )
    np.testing.assert_allclose(trial.centre[:, 0, 1], 0.006, atol=1e-9)
    np.testing.assert_allclose(trial.centre[:, 0, 0], 0.4, atol=1e-9)


def test_gaps_and_empty_samples(write):
    """Protects from zeros for gaps: a missing force is not measured; a force of 0 needs no point."""
    text = text_of([STEMS["ground_force_vx"]], [row()])
    lines = text.splitlines()
    cells = lines[8].split("\t")
    lines[8] = "\t".join([cells[0], "NaN", *cells[2:]])
    lines[9] = "\t".join([lines[9].split("\t")[0], "0", "0", "0", "NaN", "NaN", "NaN", "0", "0", "0"])
    trial = read_forces(write("grf.mot", "\n".join([*lines, ""])))
    assert trial.loaded[:, 0].tolist() == [LOADED, NOT_MEASURED, EMPTY, LOADED]
    assert np.isnan(trial.force[1, 0]).all()
    assert any("1 force sample with missing" in note for note in trial.notes)


@pytest.mark.parametrize("force", ["0", "12"])
def test_an_empty_plate_needs_neither_point_nor_moment(force, write):
    """Protects swing: programs that divide by the force write NaN for both where nobody stands."""
    lines = text_of([STEMS["ground_force_vx"]], [row()]).splitlines()
    lines[10] = "\t".join([lines[10].split("\t")[0], "0", force, "0", *["NaN"] * 6])
    trial = read_forces(write("grf.mot", "\n".join([*lines, ""])))
    assert trial.loaded[:, 0].tolist() == [LOADED, LOADED, LOADED, EMPTY]
    assert not any("missing" in note for note in trial.notes)
    cortex = CORTEX + "3\t0\t0\t0\tNaN\tNaN\tNaN\tNaN\n"
    assert read_forces(write("walk.forces", cortex)).loaded[:, 0].tolist() == [LOADED, LOADED, EMPTY]


@pytest.mark.parametrize("number", ["inf", "1e400", "-1e308"])
def test_infinite_forces_are_missing_and_told_once(number, write, recwarn):
    """Protects the terminal: such a sample is told as missing, and NumPy says nothing of it besides."""
    mot = text_of([STEMS["ground_force_vx"]], [row()]).splitlines()
    mot[8] = "\t".join([mot[8].split("\t")[0], number, *mot[8].split("\t")[2:]])
    cortex = CORTEX.replace("1\t30\t700\t-20\t400\t0", f"1\t30\t{number}\t-20\t{number}\t0")
    for name, text in (("grf.mot", "\n".join([*mot, ""])), ("walk.forces", cortex)):
        trial = read_forces(write(name, text))
        assert np.isfinite(trial.force).all(axis=2).sum() == len(trial.times) - 1, name
        assert any("1 force sample with missing" in note for note in trial.notes)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (text_of([("a_b", "c_d", "e_f")], [row()]), "no columns of forces"),
        (
            text_of([STEMS["ground_force_vx"]], [row()]).replace("ground_force_py", "ground_force_q"),
            "lack a component",
        ),
    ],
)
def test_files_without_forces_are_told(text, said, write):
    """Protects from a trial without plates."""
    with pytest.raises(ConfigError, match=said):
        read_forces(write("grf.mot", text))


def test_a_missing_moment_is_told(write):
    """Protects from a free moment of zero in silence."""
    trial = read_forces(write("grf.mot", text_of([("ground_force_v", "ground_force_p", "other_")], [row()])))
    assert trial.free_moment[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert any("has no moment" in note for note in trial.notes)


def test_another_kind_of_file_is_told(tmp_path):
    """Protects the list of what can be read."""
    with pytest.raises(
        ConfigError, match=r"forces cannot be read from files of type '\.csv'; allowed: " + listed(FORCES)
    ):
        read_forces(tmp_path / "grf.csv")


CORTEX = """[Force Data]
NumberOfForcePlates=1
SampleRate=450.000000
NumberOfSamples=2
#Sample\tFX1\tFY1\tFZ1\tX1\tY1\tZ1\tMZ1
1\t30\t700\t-20\t400\t0\t-200\t5000
2\t30\t700\t-20\t400\t0\t-200\t5000
"""


def test_forces_of_cortex(write):
    """Protects N, mm, N mm and the moment about the vertical of .forces files, and what is none."""
    trial = read_forces(write("walk.forces", CORTEX))
    check(trial)
    assert trial.rate == 450.0
    assert trial.times[1] == pytest.approx(1 / 450.0)
    raised = read_forces(write("walk.forces", CORTEX.replace("\t400\t0\t", "\t400\t150\t")))
    np.testing.assert_allclose(raised.centre[:, 0], [[0.4, 0.15, -0.2]] * 2, atol=1e-9)
    for damaged in (
        CORTEX.replace("SampleRate", "Rate"),
        CORTEX.replace("Plates=1", "Plates=2"),
        CORTEX.replace("450.0", "-1e40050.0"),
        CORTEX.replace("450.0", "4-5."),
        CORTEX.replace("450.0", "1e99999."),
        "nothing\n",
    ):
        with pytest.raises(ConfigError):
            read_forces(write("walk.forces", damaged))


# file: rate [Hz], samples, plates with contact, greatest normal force [N]
TRIALS = {
    "gait_bmc/walk1.forces": (450.0, 1092, (2, 3, 4, 5), 850.6),
    "gait_bmc/walk2.forces": (450.0, 753, (2, 3, 4, 5), 776.6),
    "gait_lenhart/overground_17_grf.mot": (2000.0, 5150, (0, 1, 2), 846.6),
    "gait_opensim/gait2354/subject01_walk1_grf.mot": (600.0, 1501, (0, 1), 811.4),
    "gait_opensim/gait2392/subject01_walk1_grf.mot": (600.0, 1501, (0, 1), 811.4),
    "squat_opencap/static1_grf.mot": (100.0, 517, (0, 1), 315.1),
    "squat_opencap/squats1_grf.mot": (100.0, 1346, (0, 1), 417.8),
    "squat_opencap/STS1_grf.mot": (100.0, 1399, (0, 1), 444.9),
    "squat_opencap/walking1_grf.mot": (100.0, 131, (0, 1), 736.2),
}


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_real_files(name, shared):
    """Every force file next to the project: rates, counts, loaded plates, forces up."""
    rate, n, loaded, most = TRIALS[name]
    if not (shared / name).is_file():
        pytest.skip(f"{name} is not there")
    trial = read_forces(shared / name)
    assert trial.rate == pytest.approx(rate)
    assert len(trial.times) == n
    assert tuple(np.flatnonzero((trial.loaded == LOADED).any(axis=0))) == loaded
    assert np.nanmax(trial.force[..., 1]) == pytest.approx(most, abs=1.0)
    assert not any("down" in note or "used as the up axis" in note for note in trial.notes)


def test_taring_takes_the_zero_off_empty_plates_only(write):
    """Protects the weight: a drifted plate is put right from its empty seconds, a loaded one is left."""
    stems = [STEMS["ground_force_1_vx"], STEMS["ground_force_2_vx"]]
    drift, empty = np.array([2.0, 8.0, -1.0]), np.zeros(3)
    lines = text_of(stems, [row(drift, empty, empty), row()], n_row=40).splitlines()
    stepped = text_of(stems, [row(FORCE + drift), row(2 * FORCE)], n_row=40).splitlines()
    trial = read_forces(write("grf.mot", "\n".join([*lines[:27], *stepped[27:], ""])))
    tared = tare(trial, 0.0, 0.19)
    np.testing.assert_allclose(tared.force[:20, 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(tared.force[20:, 0], np.tile(FORCE, (20, 1)), atol=1e-6)
    assert tared.loaded[:, 0].tolist() == [EMPTY] * 20 + [LOADED] * 20
    np.testing.assert_array_equal(tared.force[:, 1], trial.force[:, 1])
    assert tared.notes[-2] == "the zero measured from 0 to 0.19 s was subtracted from: ground_force_1 8 N"
    assert tared.notes[-1].endswith("s: ground_force_2")
    with pytest.raises(ConfigError, match=r"no force plate is empty from 0 to 0\.3 s"):
        tare(trial, 0.0, 0.3)
    with pytest.raises(ConfigError, match=r"no force samples from 5 to 6 s; allowed: 0 to 0\.39 s"):
        tare(trial, 5.0, 6.0)


def test_a_few_samples_are_no_empty_plate(write):
    """Protects the weight: a single sample, which never varies, would be taken for an empty plate."""
    stems = [STEMS["ground_force_1_vx"]]
    trial = read_forces(write("grf.mot", text_of(stems, [row(0.0 * FORCE)], n_row=40)))
    for start, stop, lasting in ((0.0, 0.001, "0.01"), (0.1, 0.185, "0.09"), (0.35, 9.0, "0.05")):
        with pytest.raises(ConfigError, match=rf"last only {lasting} s; allowed: 0\.1 s or more"):
            tare(trial, start, stop)
    assert tare(trial, 0.3, 0.39).notes[-1].startswith("the zero measured")


def test_a_moment_in_part_and_two_moments_are_refused(write):
    """Protects rotation moments: neither zeros in the place of a moment, nor one of two by chance."""
    text = text_of([STEMS["ground_force_3_vx"]], [row()])
    with pytest.raises(ConfigError, match="lacks a component: ground_moment_3_my"):
        read_forces(write("part.mot", text.replace("ground_moment_3_my", "other")))
    both = (*STEMS["ground_force_3_vx"], "ground_torque_3_")
    with pytest.raises(ConfigError, match="has two moments: ground_torque_3_x"):
        read_forces(write("two.mot", text_of([both], [np.concatenate([row(), TORQUE])])))
