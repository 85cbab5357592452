"""Units and axes: declared, overridden, guessed, and checked against the size of a person."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtsim.errors import ConfigError
from rtsim.files.markers.axes import ROTATIONS
from rtsim.files.markers.ground import to_ground
from rtsim.files.markers.trial import RawTrial
from rtsim.files.markers.upright import up_by_plates

NAMES = ("C7", "RASI", "LASI", "RKNE", "RANK", "RHEE", "LHEE")
# A person at (1.5, 0, -0.4) in ground [m], walking along X: rows are markers.
BODY = np.array(
    [[0.0, 1.5, 0.0], [0.1, 1.0, 0.1], [0.1, 1.0, -0.1], [0.1, 0.5, 0.1],
     [0.0, 0.1, 0.1], [-0.1, 0.03, 0.1], [0.3, 0.05, -0.1]]
)  # fmt: skip


def walk(n_frame: int = 20) -> np.ndarray:
    """Positions (n, 7, 3) in ground [m] of the person moving 1 m along X."""
    path = np.linspace(0.0, 1.0, n_frame)[:, None, None] * np.array([1.0, 0.0, 0.0])
    return BODY + np.array([1.5, 0.0, -0.4]) + path


def raw(positions: np.ndarray, names: tuple[str, ...] = NAMES, units: str = "m", up: str = "") -> RawTrial:
    times = np.arange(positions.shape[0]) / 100.0
    return RawTrial(names, times, positions, 100.0, "file", units, up, "KEY" if up else "")


@pytest.mark.parametrize("up", sorted(ROTATIONS))
def test_every_up_axis_turns_to_y(up):
    """Declared, given by the caller or guessed from the names, the same person comes out upright."""
    assert np.linalg.det(ROTATIONS[up]) == pytest.approx(1.0)
    in_file = walk() @ ROTATIONS[up]
    for trial in (
        to_ground(raw(in_file, up=up)),
        to_ground(raw(in_file), up=up.lower()),
        to_ground(raw(in_file)),
    ):
        np.testing.assert_allclose(trial.positions, walk(), atol=1e-12)
        assert any(up in note for note in trial.notes)


def test_z_up_is_turned_by_minus_90_degrees_about_x():
    """(x, y, z) of a Z-up file becomes (x, z, -y)."""
    trial = to_ground(raw(np.array([[[1.0, 2.0, 3.0], [1.5, 2.0, 3.5]]]), ("a", "b"), up="Z"))
    np.testing.assert_array_equal(trial.positions[0, 0], [1.0, 3.0, -2.0])


def test_names_in_many_dialects():
    """Foot, pelvis and trunk are recognised in the spellings of several laboratories."""
    for upper, lower in (
        ("R.ASIS", "R.Heel"),
        ("r_psis", "r_5meta"),
        ("Sacrum", "LToe"),
        ("T10", "RMT1"),
        ("R_IAS", "R_FCC"),
    ):
        positions = np.array([[[0.3, 0.2, 1.0], [0.0, 0.1, 0.1]]] * 3)
        trial = to_ground(raw(positions, (upper, lower)))
        assert trial.positions[0, 0, 1] == pytest.approx(1.0), (upper, lower)


def test_guess_survives_gaps():
    """Frames that show only half of the body do not spoil the guess."""
    in_file = walk() @ ROTATIONS["+Z"]
    in_file[::2, 4:] = np.nan
    in_file[1::4, :3] = np.nan
    in_file[0] = np.nan
    trial = to_ground(raw(in_file))
    np.testing.assert_allclose(trial.positions[3], walk()[3])
    assert any("+Z was used" in note for note in trial.notes)


def test_guess_without_names_uses_the_floor():
    """Names that tell nothing: the axis with a floor at 0 and the widest spread is up."""
    names = tuple(f"m{i}" for i in range(7))
    trial = to_ground(raw(walk() @ ROTATIONS["+Z"], names))
    np.testing.assert_allclose(trial.positions, walk(), atol=1e-12)
    assert any("floor" in note for note in trial.notes)


def test_guess_without_anything_is_said():
    """Where nothing tells, Y is taken and the note offers the override."""
    for positions in (np.full((3, 2, 3), -1.0), np.full((3, 2, 3), np.nan)):
        trial = to_ground(raw(positions, ("a", "b")))
        assert any(
            "neither the file nor the data show which axis is up" in note and "--up" in note
            for note in trial.notes
        )


PLATE = np.array([[0.4, 0.0, 0.6], [0.0, 0.0, 0.6], [0.0, 0.0, 0.0], [0.4, 0.0, 0.0]])


def lying() -> np.ndarray:
    """The walker on the back on a floor at 0 along Z, the head towards Y."""
    x, y, z = np.moveaxis(walk(), -1, 0)
    return np.stack([z, y - 2.0, 0.1 + x - x.min()], axis=-1)


def upside_down() -> np.ndarray:
    """The walker on the hands on a floor at 0 along Y."""
    return walk() * [1.0, -1.0, -1.0] + [0.0, 1.55, 0.0]


@pytest.mark.parametrize("said", ["-Y", "+Z", "-Z", "+X"])
@pytest.mark.parametrize("names", [NAMES, tuple(f"m{i}" for i in range(7))])
def test_an_axis_that_only_the_file_says_is_given_up(said, names):
    """Protects from the axis of a view (QTM, Cortex) where names, plates and the floor say another one."""
    for surfaces in (PLATE[None], None):
        trial = to_ground(raw(walk(), names, up=said)._replace(surfaces=surfaces))
        if surfaces is None and names != NAMES:  # nothing but the floor is against it
            assert any(f"{said}, as the file states" in note for note in trial.notes)
            continue
        np.testing.assert_allclose(trial.positions, walk(), atol=1e-12)
        (told,) = [note for note in trial.notes if "check the up axis" in note]
        assert f"the file states the up axis {said} (KEY)" in told
        assert "+Y was used" in told
        assert f"--up={said}" in told
        assert not any("check the sides" in note for note in trial.notes)


@pytest.mark.parametrize(("positions", "up"), [(lying(), "+Z"), (upside_down(), "+Y")])
def test_a_person_who_lies_or_stands_on_the_hands_is_left_so(positions, up):
    """Protects a true axis against a person who is not upright: doubted, kept, with no word on the sides."""
    plate = PLATE if up == "+Y" else PLATE[:, [0, 2, 1]] - [0.0, 3.0, 0.0]
    names = ("C7", "RASI", "LASI", "RPSI", "RANK", "RHEE", "LHEE")
    for surfaces in (plate[None], None):
        trial = to_ground(raw(positions, names, up=up)._replace(surfaces=surfaces))
        np.testing.assert_allclose(trial.positions, positions @ ROTATIONS[up].T, atol=1e-12)
        assert sum("check the up axis: the file states" in note for note in trial.notes) == 1
        assert not any("check the sides" in note for note in trial.notes)


def test_upside_down_without_a_floor_at_the_origin():
    """Protects laboratories whose origin is in the midst of the room."""
    trial = to_ground(raw(walk() + np.array([0.0, 0.7, 0.0]), up="-Y"))
    np.testing.assert_allclose(trial.positions, walk() + np.array([0.0, 0.7, 0.0]), atol=1e-12)


def test_plates_that_do_not_lie_level_tell_nothing():
    """Protects from plates of a wall or a ramp, and from corners that span no surface."""
    turned = PLATE @ np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    for surfaces in (
        turned[None],
        np.zeros((1, 4, 3)),
        np.stack([PLATE, PLATE[:, [1, 0, 2]]]),
        PLATE[None][:0],
    ):
        assert up_by_plates(surfaces, walk()) == ""
    assert up_by_plates(PLATE[None], walk()) == "+Y"
    assert up_by_plates(PLATE[None], -walk()) == "-Y"
    assert up_by_plates(PLATE[None], np.full((3, 2, 3), np.nan)) == ""


@pytest.mark.parametrize(("asked", "doubted"), [("Z", True), ("-Y", True), ("X", True), ("Y", False)])
def test_an_axis_that_is_asked_for_is_obeyed_but_doubted(asked, doubted):
    """Protects from a slip on the command line, upside down above all: the body stands along Y."""
    trial = to_ground(raw(walk()), up=asked)
    up = f"+{asked}".replace("+-", "-")
    np.testing.assert_allclose(trial.positions, walk() @ ROTATIONS[up].T, atol=1e-12)
    told = [note for note in trial.notes if "check the up axis" in note]
    assert len(told) == doubted
    assert all(f"--up states {up}, but" in note and "along +Y; leave it out" in note for note in told)


def test_bad_axis_is_refused():
    """An axis that does not exist is refused with the allowed ones."""
    with pytest.raises(ConfigError, match="X, Y or Z"):
        to_ground(raw(walk()), up="W")
    with pytest.raises(ConfigError, match="KEY"):
        to_ground(raw(walk(), up="sideways"))


@pytest.mark.parametrize(
    ("unit", "factor"), [("mm", 1e-3), ("MM", 1e-3), ("cm", 1e-2), ("m", 1.0), ("Meters", 1.0)]
)
def test_declared_units(unit, factor):
    """Units are read in any case and spelling."""
    trial = to_ground(raw(walk() / factor, units=unit))
    np.testing.assert_allclose(trial.positions, walk())


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("declared", "real", "factor"), [("m", "mm", 1e-3), ("mm", "m", 1.0), ("m", "cm", 1e-2)]
)
def test_impossible_units_are_replaced_and_told(declared, real, factor, named):
    """A person 1800 m or 1.8 mm tall is read in the only unit that makes a person."""
    names = NAMES if named else tuple(f"m{i}" for i in range(7))
    trial = to_ground(raw(walk() / factor, names, units=declared))
    np.testing.assert_allclose(trial.positions, walk())
    assert any(f"read as {real}" in note and "--units" in note for note in trial.notes)


@pytest.mark.parametrize(
    ("names", "metres"),
    [
        (("m", "meter", "meters", "metre", "metres", " M. "), 1.0),
        (("dm",), 0.1),
        (("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 0.01),
        (("mm", "millimeter", "millimeters", "millimetre", "millimetres", "MM"), 0.001),
        (("in", "inch", "inches"), 0.0254),
        (("ft", "feet"), 0.3048),
    ],
)
def test_every_name_of_a_unit(names, metres):
    """Protects sizes: the same person in any unit that a file may name, declared or given, has one size."""
    for name in names:
        declared = to_ground(raw(walk() / metres, units=name))
        for trial in (declared, to_ground(raw(walk() / metres), units=name)):
            np.testing.assert_allclose(trial.positions, walk(), rtol=1e-12, atol=1e-12)
            assert not any("--units" in note for note in trial.notes if "as requested" not in note), (
                trial.notes
            )


@pytest.mark.parametrize(("height", "kept"), [(0.14, False), (0.16, True), (1.99, True), (2.01, False)])
def test_how_tall_a_person_may_be(height, kept):
    """Protects declared units: kept from foot to pelvis 0.15 to 2 m, doubted below and above."""
    names = ("RASI", "LASI", "RHEE", "LHEE")
    person = np.array([[0.0, height, 0.1], [0.0, height, -0.1], [0.0, 0.0, 0.1], [0.0, 0.0, -0.1]])
    positions = np.repeat(person[None], 5, axis=0)
    if height > 2.0:
        with pytest.raises(ConfigError, match=", which is impossible for a person"):
            to_ground(raw(positions, names, up="+Y"))
        return
    trial = to_ground(raw(positions, names, up="+Y"))
    assert any("declared unit" in note for note in trial.notes) is not kept
    np.testing.assert_allclose(trial.positions, positions)


def test_impossible_units_without_a_unique_remedy_are_refused():
    """When no usual unit makes a person, or two do, the caller has to say."""
    for factor in (1e-7, 5e-3):
        with pytest.raises(ConfigError, match="--units") as caught:
            to_ground(raw(walk() / factor, units="m"))
        assert "file" in str(caught.value)


def test_undeclared_units():
    """A file without units is read in the only unit that makes a person; too little data is refused."""
    trial = to_ground(raw(1e3 * walk(), units=""))
    np.testing.assert_allclose(trial.positions, walk())
    assert any("declares no units: mm" in note for note in trial.notes)
    with pytest.raises(ConfigError, match="no units"):
        to_ground(raw(np.ones((3, 1, 3)), ("a",), units=""))


def test_given_units_are_obeyed():
    """The caller's unit wins over the declared one and over plausibility."""
    trial = to_ground(raw(walk(), units="mm"), units="cm")
    np.testing.assert_allclose(trial.positions, 0.01 * walk())
    with pytest.raises(ConfigError, match="units"):
        to_ground(raw(walk()), units="furlong")


def test_small_scenes_are_left_alone():
    """Markers on a jaw, 15 mm apart, are neither refused nor blown up."""
    positions = np.array([[[0.0, 1.0, 2.0], [9.0, 8.0, 12.0]]] * 3)
    trial = to_ground(raw(positions, ("a", "b"), units="mm"), up="Y")
    np.testing.assert_allclose(trial.positions, 1e-3 * positions)


def test_ghosts_do_not_change_the_units():
    """One trajectory 50 m away does not make a metre file a millimetre file."""
    positions = np.concatenate([walk(), np.full((20, 1, 3), 50.0)], axis=1)
    trial = to_ground(raw(positions, tuple(f"m{i}" for i in range(8))), up="Y")
    np.testing.assert_allclose(trial.positions[:, :7], walk())


@pytest.mark.parametrize(
    "names", [("RASI", "LASI", "SACR"), ("R.ASIS", "L.ASIS", "R.PSIS"), ("r_IAS", "l_IAS", "S2")]
)
def test_exchanged_sides_are_told(names):
    """Right labels on the left of the pelvis are told, at any heading; true ones are not."""
    pelvis = np.array([[0.1, 1.0, 0.12], [0.1, 1.0, -0.12], [-0.1, 1.0, 0.02]])
    for turn in (0.0, 2.0, 4.0):
        heading = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
        positions = np.stack([pelvis @ heading.T, np.full((3, 3), np.nan)])
        said = [
            " ".join(to_ground(raw(p, names), up="Y").notes) for p in (positions, positions[:, [1, 0, 2]])
        ]
        assert ["check the sides" in text for text in said] == [False, True]
    assert "check the sides" not in " ".join(to_ground(raw(np.zeros((2, 3, 3)), names), up="Y").notes)


@settings(max_examples=50, deadline=None)
@given(
    up=st.sampled_from(sorted(ROTATIONS)), scale=st.sampled_from([1.0, 100.0, 1000.0]), turn=st.floats(0, 6.3)
)
def test_conversion_keeps_distances_and_handedness(up, scale, turn):
    """Whatever axes and units, distances in metres and the sense of rotation survive, at any heading."""
    heading = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    person = BODY @ heading.T
    unit = {1.0: "m", 100.0: "cm", 1000.0: "mm"}[scale]
    trial = to_ground(raw(scale * person[None] @ ROTATIONS[up], units=unit))
    a, b, c = person[1] - person[0], person[3] - person[0], person[5] - person[0]
    got = trial.positions[0]
    volume = np.linalg.det([got[1] - got[0], got[3] - got[0], got[5] - got[0]])
    assert volume == pytest.approx(np.linalg.det([a, b, c]), abs=1e-12)
    np.testing.assert_allclose(got, person, atol=1e-12)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ({"positions": np.zeros((0, 7, 3)), "times": np.zeros(0)}, "contains no frames of markers"),
        ({"positions": np.zeros((20, 0, 3)), "names": ()}, "contains no frames of markers"),
        ({"rate": 0.9e-3}, "the frame rate is 0.0009 Hz"),
        ({"rate": 1.1e6}, "the frame rate is 1.1e\\+06 Hz"),
        ({"rate": float("nan")}, "the frame rate is nan Hz"),
        ({"times": np.linspace(0.0, 1.1e7, 20)}, "the times are from 0 to 1.1e\\+07 s"),
        ({"times": np.linspace(-1.1e7, 0.0, 20)}, "the times are from -1.1e\\+07 to 0 s"),
    ],
)
def test_trials_that_no_clock_can_play_are_refused(fault, sentence):
    """Protects the player: no frames, and rates and times beyond all meaning, are told at the start."""
    with pytest.raises(ConfigError, match=sentence):
        to_ground(raw(walk())._replace(**fault))


@pytest.mark.parametrize("possible", [{"rate": 1e-3}, {"rate": 1e6}, {"times": np.linspace(-1e7, 1e7, 20)}])
def test_slow_fast_and_long_trials_are_read(possible):
    """Protects unusual recordings: the limits themselves are allowed."""
    np.testing.assert_allclose(to_ground(raw(walk())._replace(**possible)).positions, walk())


def test_what_was_converted_is_told():
    """Protects the reader of the notes: each conversion that was made is told, and none that was not."""
    turned = to_ground(raw(1e3 * walk() @ ROTATIONS["+Z"], units="mm", up="+Z")).notes
    assert "lengths were converted to metres (factor 0.001)" in turned
    assert "positions were rotated from +Z up to Y up" in turned
    asked = to_ground(raw(walk(), units="mm"), up="+Y", units="m").notes
    assert asked == ("unit of length: m, as requested by --units", "up axis: +Y, as requested by --up")
