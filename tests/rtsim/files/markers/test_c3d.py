"""C3D files: gaps, ghosts, model outputs, prefixes, axes and subject measures."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.markers.c3d_labels import POSITION, REAL, SCALAR, UNLABELLED, classify
from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import with_names_told
from tests.rtsim.files.c3d_bytes.results import source_file

LABELS = ["RASI", "RKNE", "RHEE"]


def standing(n_frame: int = 5, n_point: int = 3) -> np.ndarray:
    """Points (n, n_point, 3) of a Z-up file [mm]: stacked from 950 down to 50 along Z, then all at 500."""
    points = np.full((n_frame, n_point, 3), 500.0)
    points[:, :3, 2] = [950.0, 480.0, 50.0]
    points[:, :, 0] += 10.0 * np.arange(n_frame)[:, None]
    return points


def test_plain_file(make_c3d):
    """Names, rate, times from the first frame, metres and Y up."""
    trial = read_markers(make_c3d(LABELS, standing(), rate=200.0, first_frame=40))
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert trial.rate == 200.0
    np.testing.assert_allclose(trial.times, 0.2 + np.arange(5) / 200.0)
    np.testing.assert_allclose(trial.positions[1, 0], [0.51, 0.95, -0.5], atol=1e-7)
    assert trial.positions.flags.c_contiguous
    assert any("POINT:Y_SCREEN" in note for note in trial.notes)


def test_big_endian_file(make_c3d):
    """A big-endian file says what the same one of an Intel machine says; errors name it, not a copy."""
    here = read_c3d(make_c3d(LABELS, standing(), rate=200.0, first_frame=40))
    there = read_c3d(make_c3d(LABELS, standing(), rate=200.0, first_frame=40, order=">"))
    assert there._replace(times=0, positions=0) == here._replace(times=0, positions=0)
    np.testing.assert_array_equal(there.positions, here.positions)
    np.testing.assert_array_equal(there.times, here.times)
    path = make_c3d(["*1", "*2", "*3"], standing(), order=">")
    with pytest.raises(ConfigError, match=str(path)):
        read_c3d(path)


def test_damaged_parameters(make_c3d):
    """A broken chain of parameters is refused before ezc3d, which it would crash, sees it."""
    path = make_c3d(LABELS, standing())
    content = bytearray(path.read_bytes())
    labels = content.index(b"\x06\x01LABELS")
    for at, value in ((labels + 9, 255), (labels + 10, 7), (labels + 11, 99), (labels + 12, 200)):
        damaged = bytearray(content)
        damaged[at] = value
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="damaged"):
            read_c3d(path)


def test_negative_residual_is_missing(make_c3d):
    """A sample with residual -1 is NaN, whatever coordinates stand there; so is 0, 0, 0."""
    missing = np.zeros((5, 3), dtype=bool)
    missing[2, 1] = True
    points = standing()
    points[4, 2] = 0.0
    trial = read_c3d(make_c3d(LABELS, points, missing=missing))
    gaps = np.isnan(trial.positions).all(axis=2)
    assert np.argwhere(gaps).tolist() == [[2, 1], [4, 2]]


def test_ghosts_are_dropped_and_told(make_c3d):
    """Unlabelled trajectories never become markers."""
    labels = [*LABELS, "*179", "*180"]
    trial = read_c3d(make_c3d(labels, standing(n_point=5)))
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert any(
        "*179" in note and note.startswith("unlabelled trajectories left out (2)") for note in trial.notes
    )


def test_model_outputs_are_separated(make_c3d):
    """Outputs that the file lists go for good; computed positions come back on request."""
    labels = [*LABELS, "RHipAngles", "RKneePower", "PELO", "PELA", "PELL", "PELP", "RHJC", "JUG", "Odd"]
    groups = {
        "ANGLES": ["RHipAngles"],
        "MODELED_MARKERS": ["JUG"],
        "THINGS": ["Odd"],
        "TYPE_GROUPS": ["THINGS", "T"],
    }
    path = make_c3d(labels, standing(n_point=12), groups=groups)
    trial = read_c3d(path)
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert any("RHipAngles, RKneePower, Odd" in note for note in trial.notes)
    kept = read_markers(path, virtual=True)
    assert kept.names == ("RASI", "RKNE", "RHEE", "PELO", "PELA", "PELL", "PELP", "RHJC", "JUG")


def test_markers_that_a_file_lists_as_computed_are_told_where_a_run_is_refused(make_c3d):
    """Protects who has a marker under its name, and is told that it is not there: a pipeline may have copied
    it, and what such a list leaves out stands in the refusal. Points with names of outputs do not."""
    labels = [*LABELS, "RTHI", "RHJC"]
    path = make_c3d(labels, standing(n_point=5), groups={"MODELED_MARKERS": ["RTHI", "RHJC"]})
    trial = read_c3d(path)
    told = with_names_told(ConfigError("RTHI is not there"), trial)
    assert "left out because POINT:MODELED_MARKERS lists them (1): RTHI" in str(told)
    assert "RHJC" not in str(told)
    assert any("left out (1): RHJC" in note for note in trial.notes)
    kept = read_markers(path, virtual=True)
    assert not any("lists them" in note for note in kept.notes)


def test_names_that_only_look_computed():
    """A lone PELO or a tibia marker LTIB1 is real, unless the rest of the model is there too."""
    assert classify(["PELO", "LTIB1", "LTB1"], {}) == [REAL, REAL, REAL]
    assert classify(["RTH0", "RTH1", "RTH2", "RTH3"], {}) == [REAL] * 4
    assert classify(["LFOF0", "LFOF1", "LHLX3", "LTIB1"], {}) == [POSITION] * 4
    assert classify(["", "*12", "uname*3", "7", "LHipMoment", "LHJC"], {}) == [
        UNLABELLED, UNLABELLED, UNLABELLED, REAL, SCALAR, POSITION
    ]  # fmt: skip


def test_more_labels_than_one_parameter_holds(make_c3d):
    """Markers beyond the 255th are named by LABELS2."""
    labels = [f"M{i}" for i in range(300)]
    trial = read_c3d(make_c3d(labels, standing(n_point=300)))
    assert trial.names == tuple(labels)


def test_subject_prefix(make_c3d):
    """One subject's prefix is stripped and told; several subjects keep theirs."""
    groups = {"ANGLES": ["HC:RHipAngles"]}
    trial = read_c3d(
        make_c3d([f"HC:{name}" for name in [*LABELS, "RHipAngles"]], standing(n_point=4), groups=groups)
    )
    assert trial.names == ("RASI", "RKNE", "RHEE")
    assert any("'HC:'" in note for note in trial.notes)
    trial = read_c3d(make_c3d(["A:RASI", "A:RHEE", "B:RASI"], standing()))
    assert trial.names == ("A:RASI", "A:RHEE", "B:RASI")
    assert any("several subjects (A, B)" in note for note in trial.notes)


def test_a_marker_without_a_name_before_it_is_not_the_other_persons(make_c3d):
    """Protects a person whose labels have no prefix beside one whose labels have one."""
    points = np.concatenate([standing(), standing()[:, ::2] + [90.0, 0.0, 0.0]], axis=1)
    labels = ["Therapist:RASI", "Therapist:RKNE", "Therapist:RHEE", "RASI", "RHEE"]
    path = make_c3d(labels, points, processing={"Therapist:Bodymass": 90.0, "Anna:Bodymass": 50.0})
    both = read_markers(path)
    assert both.names == tuple(labels)
    assert "Bodymass" not in both.subject
    own = read_markers(path, person="unnamed")
    assert own.names == ("RASI", "RHEE")
    np.testing.assert_allclose(own.positions, both.positions[:, 3:])
    assert read_markers(path, person="Therapist").subject == {"Bodymass": 90.0}


def test_repeated_labels(make_c3d):
    """Two trajectories of one name are kept apart."""
    assert read_c3d(make_c3d(["RASI", "RASI", "RHEE"], standing())).names == ("RASI", "RASI_2", "RHEE")


@pytest.mark.parametrize("n_seen", [0, 2])
def test_of_a_label_made_twice_the_one_with_data_keeps_it(make_c3d, n_seen):
    """Protects a marker from a stump, or nothing at all, of the same label that stands before it."""
    missing = np.zeros((5, 4), dtype=bool)
    missing[n_seen:, 0] = True
    trial = read_c3d(make_c3d(["RKNE", "RASI", "RKNE", "RHEE"], standing(n_point=4), missing=missing))
    assert trial.names == ("RKNE_2", "RASI", "RKNE", "RHEE")
    assert np.isfinite(trial.positions[:, 2]).all()
    has = "has data in 2 frames" if n_seen else "has no data"
    assert any(
        f"the one with data in 5 frames kept it, and another marker of this name, which {has}, was renamed "
        "RKNE_2" in n
        for n in trial.notes
    )


def test_a_stripped_prefix_may_make_a_label_twice(make_c3d):
    """Protects the labelled marker from an empty one without the subject's name."""
    missing = np.zeros((5, 4), dtype=bool)
    missing[:, 0] = True
    labels = ["RASI", "A:RASI", "A:RKNE", "A:RHEE"]
    trial = read_c3d(make_c3d(labels, standing(n_point=4), missing=missing))
    assert trial.names == ("RASI_2", "RASI", "RKNE", "RHEE")


def test_up_axis_sources(make_c3d):
    """Screen axis first, manufacturer next, data last - and the caller above all."""
    cases = (
        ({"screen": ("+X", "+Z")}, 0.95, "+Z, as the file states (POINT:Y_SCREEN)"),
        ({"screen": ("+X", "+Y")}, 0.95, "the file states the up axis +Y (POINT:Y_SCREEN), but"),
        ({"screen": None, "company": "Vicon"}, 0.95, "MANUFACTURER"),
        ({"screen": None}, 0.95, "pelvis and trunk"),
        ({"screen": ("right", "upwards")}, 0.95, "pelvis and trunk"),
    )
    for options, height, said in cases:
        trial = read_c3d(make_c3d(LABELS, standing(), **options))
        assert trial.positions[0, 0, 1] == pytest.approx(height), options
        assert any(said in note for note in trial.notes), options
    trial = read_markers(make_c3d(LABELS, standing()), up="Y")
    assert trial.positions[0, 0, 2] == pytest.approx(0.95)


def test_units(make_c3d):
    """POINT:UNITS in any case; an impossible one is replaced and told; the caller's wins."""
    assert read_c3d(make_c3d(LABELS, standing(), units="MM")).positions[0, 0, 1] == pytest.approx(0.95)
    trial = read_c3d(make_c3d(LABELS, standing(), units="m"))
    assert trial.positions[0, 0, 1] == pytest.approx(0.95)
    assert any("read as mm" in note for note in trial.notes)
    assert read_markers(make_c3d(LABELS, standing()), units="m").positions[0, 0, 1] == pytest.approx(950.0)


def test_subject_measures(make_c3d):
    """Lengths arrive in metres, masses in kilograms, parameters of unknown unit not at all."""
    known = {"RKneeWidth": 102.0, "LLegLength": 830.0, "Bodymass": 45.8, "HC:RAnkleWidth": 61.0}
    processing = {**known, "SpineOffset": -9.9, "Static": 1.0, "%RMMAX": 2.5}
    subject = read_c3d(make_c3d(LABELS, standing(), processing=processing)).subject
    assert subject == pytest.approx(
        {"RKneeWidth": 0.102, "LLegLength": 0.83, "Bodymass": 45.8, "RAnkleWidth": 0.061}
    )


def test_files_that_are_no_c3d(tmp_path, make_c3d):
    """Missing, foreign, cut and empty files are configuration errors that name the file."""
    with pytest.raises(ConfigError, match="no such file"):
        read_c3d(tmp_path / "none.c3d")
    (tmp_path / "text.c3d").write_text("not C3D\n" * 200)
    with pytest.raises(ConfigError, match="not a C3D file"):
        read_c3d(tmp_path / "text.c3d")
    content = make_c3d(LABELS, standing()).read_bytes()
    (tmp_path / "cut.c3d").write_bytes(content[:600])
    with pytest.raises(ConfigError, match=r"cut\.c3d"):
        read_c3d(tmp_path / "cut.c3d")
    (tmp_path / "short.c3d").write_bytes(content[:-48])
    trial = read_c3d(tmp_path / "short.c3d")
    assert trial.positions.shape[0] == 4
    assert any("5 frames" in note for note in trial.notes)
    with pytest.raises(ConfigError, match="no labelled markers"):
        read_c3d(make_c3d(["*1", "*2", "*3"], standing()))


def test_plates_alone_without_a_point_rate_are_told_as_such(tmp_path):
    """Protects who exports plates alone: that there are no points comes before a rate of 0."""
    path = source_file(tmp_path, more={"POINT": {"RATE": 0.0, "USED": 0, "UNITS": ["mm"]}})
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 2, 0)
    struct.pack_into("<f", data, 20, 0.0)
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="contains no points, and no point rate"):
        read_c3d(path)
