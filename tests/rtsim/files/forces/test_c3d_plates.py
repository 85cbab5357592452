"""Force plates of C3D files: every type, its corrections, and what is damaged."""

from __future__ import annotations

import ezc3d
import numpy as np
import pytest

from kernels.plates.plate_contact import LOADED, NOT_MEASURED
from rtsim.errors import ConfigError
from rtsim.files.forces.forces import read_forces
from tests.rtsim.files.plate_files import LOAD, N_SUB, ORIGIN, channels_of, corners_of, plate_file

CORNERS = corners_of((600.0, 400.0), 0.3)
FORCE = np.array([30.0, 720.0, 55.0])  # of LOAD, with Y up
POINT = np.array([0.612, 0.0, -0.433])
MATRIX = np.eye(6) * [3.0, 2.5, 11.0, 500.0, 480.0, 260.0] + 0.3 * np.arange(36.0).reshape(6, 6) / 36.0


def check(trial, plate=0, atol=1e-4):
    """That the load is found again [N, m, N m]; files hold 32-bit floats."""
    loaded = trial.loaded[:, plate] == LOADED
    assert loaded.any()
    np.testing.assert_allclose(
        trial.force[loaded, plate], np.broadcast_to(FORCE, (loaded.sum(), 3)), atol=1e-3
    )
    np.testing.assert_allclose(
        trial.centre[loaded, plate], np.broadcast_to(POINT, (loaded.sum(), 3)), rtol=0, atol=atol
    )
    np.testing.assert_allclose(trial.free_moment[loaded, plate], 4.2, rtol=0, atol=1e-3)
    moment = np.cross(POINT, FORCE) + np.array([0.0, 4.2, 0.0])
    np.testing.assert_allclose(trial.moment[loaded, plate][0], moment, rtol=0, atol=2e-3)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_each_type_gives_the_known_force_at_the_known_point(kind, tmp_path):
    """Protects the meaning of channels, ORIGIN, CORNERS and CAL_MATRIX: closed forms of each type."""
    matrix = MATRIX if kind == 4 else None
    path = plate_file(
        tmp_path / "t.c3d",
        (kind,),
        [CORNERS],
        [channels_of(kind, CORNERS, LOAD, matrix)],
        matrix=None if matrix is None else matrix[:, :, None],
    )
    trial = read_forces(path)
    check(trial)
    assert trial.times[:3].tolist() == [0.0, 0.001, 0.002]
    assert trial.rate == 1000.0
    np.testing.assert_allclose(trial.plates.half[0], [0.2, 0.3], atol=1e-6)
    np.testing.assert_allclose(trial.plates.axes[0, 2], [0.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1e-3, "in m, the corners would span a surface of 0.4 by 0.6 m"),
        (0.1, "in cm, the corners would"),
        (1e3, "surface of the plate is 400 by 600 m"),
    ],
)
def test_corners_in_another_unit_than_the_points_are_told(factor, said, tmp_path):
    """Protects from plates that are left out, or endless, without the reason: the unit of their corners."""
    path = plate_file(tmp_path / "t.c3d", (2,), [factor * CORNERS], [channels_of(2, CORNERS, LOAD)])
    if factor > 1.0:
        assert any(said in note for note in read_forces(path).notes)
        return
    with pytest.raises(ConfigError, match="do not span a surface.*" + said):
        read_forces(path)


@pytest.mark.parametrize("screen", ["-Z", "+Y", "-X"])
def test_plates_under_an_axis_of_a_view(screen, tmp_path):
    """Protects forces and ORIGIN from an axis that nothing but the file says."""
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], screen=screen)
    trial = read_forces(path)
    check(trial)
    assert not any("reversed (force" in note or "ORIGIN" in note for note in trial.notes)


def test_what_is_told_under_an_axis_that_is_doubted(tmp_path):
    """Protects from a sentence on the forces or ORIGIN whose true cause is an axis that was asked for."""
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)])
    odd = [n for n in read_forces(path, up="-Z").notes if "reversed (force" in n or "ORIGIN" in n]
    assert odd
    assert all(
        note.endswith("or the up axis is wrong (see the note on the up axis of the markers)") for note in odd
    )


def test_plates_of_several_types_in_one_file(tmp_path):
    """Protects the wiring: CHANNEL has eight rows as soon as one plate has eight channels."""
    other = corners_of((600.0, 380.0), -1.2)
    path = plate_file(
        tmp_path / "t.c3d", (2, 3, 1), [CORNERS, other, CORNERS],
        [channels_of(2, CORNERS, LOAD), channels_of(3, other, LOAD), channels_of(1, CORNERS, LOAD)],
    )  # fmt: skip
    trial = read_forces(path)
    assert trial.names == ("plate_1", "plate_2", "plate_3")
    for plate in range(3):
        check(trial, plate)


def test_offset_and_scale_of_the_channels_are_applied(tmp_path):
    """Protects from raw counts that pass for newtons."""
    path = plate_file(
        tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], scale=0.25, offset=64
    )
    check(read_forces(path), atol=2e-3)


def test_units_of_the_channels_are_applied(tmp_path):
    """Protects from moments that are a thousand times too large, and says what a volt was taken for."""
    channels = channels_of(2, CORNERS, LOAD) / [1, 1, 1, 1000, 1000, 1000]
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [channels], units=["N"] * 3 + ["Nm"] * 3)
    check(read_forces(path))
    path = plate_file(tmp_path / "v.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], units=["V"] * 6)
    assert any("channels in V were read as forces in N" in note for note in read_forces(path).notes)


@pytest.mark.parametrize("kind", [1, 2, 4])
@pytest.mark.parametrize(("stated", "asked"), [("", None), ("", "m"), ("mm", None), ("mm", "m"), ("m", None)])
def test_moments_without_a_unit_are_in_the_unit_of_length_of_the_points(kind, stated, asked, tmp_path):
    """Protects the centre of pressure of a file in metres whose POINT:UNITS is missing or wrong."""
    matrix = np.eye(6) if kind == 4 else None
    per_unit = [1.0, 1.0, 1.0, 1e3, 1e3, 1e3]
    path = plate_file(
        tmp_path / "t.c3d",
        (kind,),
        [1e-3 * CORNERS],
        [channels_of(kind, CORNERS, LOAD, matrix) / per_unit],
        origin=1e-3 * ORIGIN[None],
        matrix=None if matrix is None else matrix[:, :, None],
        lengths=(stated, 1000.0),
    )
    trial = read_forces(path, units=asked)
    check(trial)
    said = [note for note in trial.notes if "the unit of its moments and lengths is not stated" in note]
    assert len(said) == (stated != "m")
    assert all("force plate 1: " in note and "with m as the unit of length" in note for note in said)


def test_an_origin_of_the_other_sign_is_corrected_and_told(tmp_path):
    """Protects from a centre of pressure that is off by the depth of the plate times the shear."""
    path = plate_file(
        tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], origin=-ORIGIN[None]
    )
    trial = read_forces(path)
    check(trial)
    assert any("the other sign was used" in note for note in trial.notes)


def test_forces_of_the_person_on_the_plate_are_turned_round(tmp_path):
    """Protects the sign: action and reaction differ in force and moment, the point is the same."""
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [-channels_of(2, CORNERS, LOAD)])
    trial = read_forces(path)
    check(trial)
    assert any("point down" in note for note in trial.notes)


def test_the_zero_frames_are_taken_off_where_they_are_empty(tmp_path):
    """Protects the baseline: frames that the file names, counted from 1, of an empty plate only."""
    drift = np.array([4.0, -3.0, 12.0, 900.0, -400.0, 100.0])
    step = np.repeat([0.0, 0.0, 1.0, 1.0], N_SUB)
    loaded = channels_of(2, CORNERS, LOAD)
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [loaded], profile=step, zero=(1, 2))
    plain = read_forces(path)
    raw = bytearray(path.read_bytes())
    samples = np.frombuffer(raw, "<f4", offset=len(raw) - 4 * 4 * (12 + 6 * N_SUB)).reshape(4, -1)
    drifted = samples.copy()
    drifted[:, 12:] += np.tile(drift, N_SUB).astype("f4")
    path.write_bytes(bytes(raw[: len(raw) - samples.nbytes]) + drifted.tobytes())
    trial = read_forces(path)
    check(plain)
    check(trial)
    assert any("measured in frames 1 to 2" in note for note in trial.notes)
    path = plate_file(tmp_path / "l.c3d", (2,), [CORNERS], [loaded], profile=step, zero=(2, 3))
    assert any("is loaded in frames 2 to 3" in note for note in read_forces(path).notes)
    path = plate_file(tmp_path / "s.c3d", (2,), [CORNERS], [loaded], zero=(0, 2))
    still = read_forces(path)
    check(still)
    assert any("is loaded in frames 1 to 2" in note for note in still.notes)
    path = plate_file(tmp_path / "o.c3d", (2,), [CORNERS], [loaded], zero=(1, 10), first_frame=100)
    assert any("are not in the file" in note for note in read_forces(path).notes)


def test_times_are_those_of_the_markers(tmp_path):
    """Protects pairing: a file cut out of a longer one keeps its clock for both."""
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], first_frame=250)
    trial = read_forces(path)
    assert trial.times[0] == 2.5
    assert trial.times[N_SUB] == pytest.approx(2.51)


def test_what_cannot_be_read_is_left_out_by_name(tmp_path):
    """Protects from guesses: another type, corners without a surface, channels that are not there."""
    good = channels_of(2, CORNERS, LOAD)
    wired = np.array([[1, 7, 13, 19, 25]] * 6) + np.arange(6)[:, None]
    wired[2, 2] = 99.0
    path = plate_file(
        tmp_path / "t.c3d", (2, 7, 2, 2, 4),
        [CORNERS, CORNERS, CORNERS, np.zeros((4, 3)), CORNERS], [good] * 5,
        channel=wired.astype(float),
    )  # fmt: skip
    trial = read_forces(path)
    assert trial.names == ("plate_1",)
    told = " ".join(trial.notes)
    for words in ("force plate 2 has type 7", "force plate 3 names channels", "force plate 4 do not span",
                  "force plate 5 has type 4 but no CAL_MATRIX"):  # fmt: skip
        assert words in told
    with pytest.raises(ConfigError, match="none of the force plates can be read: force plate 1 has type 6"):
        read_forces(plate_file(tmp_path / "n.c3d", (6,), [CORNERS], [good]))


def test_channels_that_are_no_numbers_are_not_measured(tmp_path):
    """Protects kernels and sums from damaged samples: NaN, infinities, and what no plate can say."""
    profile = np.ones(4 * N_SUB)
    profile[3], profile[5], profile[7] = np.nan, np.inf, 1e30
    path = plate_file(
        tmp_path / "t.c3d",
        (4,),
        [CORNERS],
        [channels_of(4, CORNERS, LOAD, MATRIX)],
        matrix=MATRIX[:, :, None],
        profile=profile,
    )
    trial = read_forces(path)
    check(trial)
    assert np.flatnonzero(trial.loaded[:, 0] == NOT_MEASURED).tolist() == [3, 5, 7]
    assert any("3 force samples with missing" in note for note in trial.notes)


@pytest.mark.parametrize(("kind", "lacking"), [(1, 3), (1, 5), (2, 4)])
def test_a_loaded_plate_whose_moment_is_no_number_is_told_by_name(kind, lacking, tmp_path):
    """Protects from gaps that look like forces of another unit: a point or moment of NaN beside a force."""
    sound = channels_of(kind, CORNERS, LOAD)
    broken = sound.copy()
    broken[lacking] = np.nan
    trial = read_forces(plate_file(tmp_path / "t.c3d", (kind,) * 2, [CORNERS] * 2, [sound, broken]))
    check(trial)
    n = len(trial.times)
    assert (trial.loaded[:, 1] == NOT_MEASURED).all()
    (said,) = [note for note in trial.notes if "has no moment" in note]
    assert (
        f"plate_2 has no moment or no point of application in {n} of {n} samples with a load; these" in said
    )


@pytest.mark.parametrize(("used", "said"), [(0, "contains no force plates"), (30000, "30000 force plates")])
def test_counts_that_are_none_are_told(used, said, tmp_path):
    """Protects from forces without plates and from counts of a damaged file."""
    path = plate_file(tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], used=used)
    with pytest.raises(ConfigError, match=said):
        read_forces(path)


def test_a_file_of_markers_alone_has_no_plates(make_c3d):
    """Protects from an error in machine words."""
    points = np.full((5, 3, 3), 500.0)
    points[:, :, 2] = [950.0, 480.0, 50.0]
    with pytest.raises(ConfigError, match="the file contains no force plates"):
        read_forces(make_c3d(["RASI", "RKNE", "RHEE"], points))


@pytest.mark.parametrize(
    "name",
    ["HC002D_static", "HC002D_straight", "HC030A_static", "HC030A_straight", "HC030A_turn"],
)
def test_real_plates_are_those_of_a_peer(name, shared):
    """Real recordings: ezc3d's own force, centre of pressure and free moment, computed apart from ours."""
    path = shared / "gait_mcgill" / f"{name}.c3d"
    if not path.is_file():
        pytest.skip(f"{path.name} is not there")
    trial = read_forces(path)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    for plate, peer in enumerate(ezc3d.c3d(str(path), extract_forceplat_data=True)["data"]["platform"]):
        loaded = trial.loaded[:, plate] == LOADED
        np.testing.assert_allclose(trial.force[:, plate], (turn @ peer["force"]).T, rtol=0, atol=1e-5)
        centre = 1e-3 * (turn @ peer["center_of_pressure"]).T
        np.testing.assert_allclose(trial.centre[loaded, plate], centre[loaded], rtol=0, atol=1e-6)
        torque = 1e-3 * (turn @ peer["Tz"])[1]
        np.testing.assert_allclose(trial.free_moment[loaded, plate], torque[loaded], rtol=0, atol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_zero_frames_that_are_no_numbers_are_none(tmp_path, number):
    """Protects from a traceback: real parameters of a stranger's file may be no numbers."""
    path = plate_file(
        tmp_path / "t.c3d", (2,), [CORNERS], [channels_of(2, CORNERS, LOAD)], zero=np.array([number, 2.0])
    )
    trial = read_forces(path)
    check(trial)
    assert not any("zero" in note for note in trial.notes)
