"""Calibration of a made-up person, exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.testing import assert_allclose

from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import calibrate, subject_for
from rtsim.subjects.calibration.landmarks import find_landmarks
from rtsim.subjects.calibration.segment_axes import natural_coordinates
from rtsim.subjects.markers.labs import load_lab
from rtsim.subjects.markers.markers_of import markers_of
from rtsim.subjects.subject import Subject, load_subject, save_subject
from tests.rtsim.subjects.conftest import LANDMARKS

Person = Callable[..., MarkerTrial]


EXCHANGED = {"R": "L", "L": "R"}


def numbers(subject: Subject, exchanged: bool = False) -> list[float]:
    """All numbers of a subject in a row, by the names of the markers, or by these with R and L exchanged."""
    values: list[float] = []
    for segment in subject.segments.values():
        values += [segment.length_mm, segment.alpha_deg, segment.beta_deg, segment.gamma_deg]
        values += [c for x in segment.points_mm.values() for c in x]
        markers = {(EXCHANGED[m[0]] + m[1:] if exchanged else m): x for m, x in segment.markers_mm.items()}
        values += [c for m in sorted(markers) for c in markers[m]]
    return values


def test_segments_markers_and_hip_centre(person: Person) -> None:
    """Protects eqs 12, 13 and 15 end to end: markers put back by the subject are where they were."""
    trial = person()
    subject = calibrate(trial)
    landmarks = find_landmarks({role: np.array([x]) for role, x in LANDMARKS.items()}, None, "harrington2007")
    standing = {name: trial.positions[0, m] for m, name in enumerate(trial.names)}
    assert list(subject.segments) == ["pelvis", "thigh", "shank", "foot"]
    assert subject.marker_names == load_lab("bmc").right.tracking.names
    assert (subject.side, subject.n_frame, subject.notes) == ("right", 12, ())
    for name, q in natural_coordinates(landmarks).items():
        segment = subject.segments[name]
        u, r_p, r_d, w = q[0]
        v = r_p - r_d
        assert segment.length_mm == pytest.approx(1e3 * np.linalg.norm(v), abs=1e-9)
        y = v - (u @ v) * u
        axes = np.column_stack([u, y / np.linalg.norm(y), np.cross(u, y / np.linalg.norm(y))])
        assert_allclose(axes @ segment.segment().basis(), np.column_stack([u, v, w]), atol=1e-12)
        for marker, local in segment.markers_mm.items():
            assert_allclose(r_p + axes @ (1e-3 * np.array(local)), standing[marker], atol=1e-12)
        if name == "pelvis":
            hip = r_p + axes @ (1e-3 * np.array(segment.points_mm["hip_centre"]))
            assert_allclose(hip, landmarks.hip[0], atol=1e-12)


@pytest.mark.parametrize("label", ["right", "left"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_every_side_gives_the_same_subject(person: Person, label: str, mirrored: bool) -> None:
    """Protects mirroring: one leg, however labelled and mirrored, has one set of numbers and of frames."""
    trial = person(label=label, mirrored=mirrored)
    subject = calibrate(trial, side=label)
    assert subject.side == ("left" if mirrored else "right")
    right = person()
    reference = calibrate(right)
    assert_allclose(numbers(subject, label == "left"), numbers(reference), atol=1e-9)
    measured, wanted = markers_of(trial, subject), markers_of(right, reference)
    for m, name in enumerate(subject.marker_names):
        same = EXCHANGED[name[0]] + name[1:] if label == "left" else name
        assert_allclose(measured[:, m], wanted[:, reference.marker_names.index(same)], atol=1e-12)


def test_static_trial_gives_the_anatomy_and_the_trial_the_markers(person: Person) -> None:
    """Protects the usual protocol: medial markers in the static trial only, clusters in the walk."""
    gone = ("R.Knee.Medial", "R.Ankle.Medial", "R.MT1")
    walk, static = person(without=gone), person()
    subject = calibrate(walk, static=static)
    assert set(subject.marker_names) == set(load_lab("bmc").right.tracking.names) - set(gone)
    whole, part = calibrate(static), subject
    for name, segment in part.segments.items():
        for marker, x in segment.markers_mm.items():
            assert x == whole.segments[name].markers_mm[marker]


def test_names_are_those_of_the_trial(person: Person) -> None:
    """Protects matching at run time: subject and stream spell alike, whatever map and static trial say."""
    static = person()
    walk = static._replace(names=tuple("Ann:" + n.replace(".", "_") for n in static.names))
    subject = calibrate(walk, static=static)
    assert subject.marker_names[0] == "Ann:R_ASIS"
    assert_allclose(numbers(subject), numbers(calibrate(static)), atol=1e-9)
    assert np.isfinite(markers_of(static, subject)).all()


def test_trial_without_frames_can_be_calibrated_from_a_static(person: Person) -> None:
    """Protects streams, of which only the names are known before the run."""
    static = person()
    stream = static._replace(times=np.empty(0), positions=np.empty((0, len(static.names), 3)))
    assert numbers(calibrate(stream, static=static)) == numbers(calibrate(static))


def test_long_trials_are_thinned(person: Person) -> None:
    """Protects the time calibration takes: 400 frames at most, first and last among them."""
    subject = calibrate(person(n_frame=1203))
    assert subject.n_frame == 400
    assert_allclose(numbers(subject), numbers(calibrate(person())), atol=1e-9)


def test_frames_with_exchanged_labels_are_left_out(person: Person) -> None:
    """Protects the means from a swap that lasts some frames, and says so."""
    trial = person(n_frame=30)
    a, b = trial.names.index("R.MT1"), trial.names.index("R.MT2")
    trial.positions[:6, [a, b]] = trial.positions[:6, [b, a]]
    subject = calibrate(trial)
    assert_allclose(numbers(subject), numbers(calibrate(person())), atol=1e-9)
    assert "6 of 30 frames left out" in subject.notes[0]
    assert "width of the forefoot on 6 frames" in subject.notes[0]


def test_marker_that_no_calibration_frame_shows_is_told(person: Person) -> None:
    """Protects against tracking a marker that has no place."""
    subject = calibrate(person(), static=person(without=("R.MT2",)))
    assert "R.MT2" not in subject.marker_names
    assert "not tracked, because no calibration frame shows them: R.MT2" in subject.notes


def test_bell_moves_the_hip(person: Person) -> None:
    """Protects the choice of the regression, and its record."""
    bell = calibrate(person(), hip_regression="bell1990")
    assert bell.hip_regression == "bell1990"
    hips = np.array([s.segments["pelvis"].points_mm["hip_centre"] for s in (bell, calibrate(person()))])
    assert 5.0 < np.linalg.norm(hips[0] - hips[1]) < 40.0


def test_knee_width_for_labs_without_medial_marker(person: Person) -> None:
    """Protects the chord through the whole calibration: by option, by the file, or with a clear error."""
    lab = load_lab("bmc")
    side = msgspec.structs.replace(lab.right, epicondyle_medial="", thigh_lateral="R.GTR")
    lab = msgspec.structs.replace(lab, right=side)
    trial = person(without=("R.Knee.Medial",))
    subject = calibrate(trial, lab, knee_width_mm=100.0)
    assert any("knee centre put 50.0 mm" in note for note in subject.notes)
    stored = trial._replace(subject={"RKneeWidth": 0.1})
    assert numbers(calibrate(stored, lab)) == numbers(subject)
    with pytest.raises(ConfigError, match=r"RKneeWidth.*knee_width_mm"):
        calibrate(trial, lab)


def test_files_and_names_are_taken(person: Person, tmp_path: Path) -> None:
    """Protects the way in of the command line: paths, a shipped lab's name, and a file that is kept."""
    path = tmp_path / "walk.trc"
    write_trc(path, person())
    subject = subject_for(path, str(path), lab="bmc", name="Ann")
    assert subject.name == "Ann"
    assert subject.source == "12 frames of walk.trc, marker map bmc"
    saved = tmp_path / "ann.toml"
    save_subject(saved, subject)
    assert load_subject(saved) == subject


def test_static_trials_nearby_are_proposed(person: Person, tmp_path: Path) -> None:
    """Protects the remedy: the static trial that lies next to the walk is named."""
    write_trc(tmp_path / "walk.trc", person(without=("R.Ankle.Medial",)))
    write_trc(tmp_path / "Static_1.trc", person())
    with pytest.raises(ConfigError, match=r"R.Ankle.Medial.*give a static trial.*Static_1.trc"):
        subject_for(tmp_path / "walk.trc")
    with pytest.raises(ConfigError, match="use a static trial with these markers, or name substitutes"):
        subject_for(tmp_path / "Static_1.trc", tmp_path / "walk.trc")


def test_segment_without_markers_is_an_error(person: Person) -> None:
    """Protects the run from a segment that nothing follows."""
    gone = ("R.Heel", "R.MT1", "R.MT2", "R.MT5")
    with pytest.raises(
        ConfigError, match=r"none of the markers by which the marker map tracks the foot.*R\.Heel"
    ):
        calibrate(person(without=gone), load_lab("bmc"), static=person())


def test_missing_markers_stay_missing(person: Person) -> None:
    """Protects the frames handed to the estimator: order of the subject, NaN where the trial has nothing."""
    subject = calibrate(person())
    trial = person(without=("R.HF",))
    trial.positions[3, trial.names.index("R.GTR")] = np.nan
    measured = markers_of(trial, subject)
    assert measured.shape == (12, len(subject.marker_names), 3)
    assert measured.flags.c_contiguous
    missing = np.asarray(np.isnan(measured).all(axis=2))
    assert missing[:, subject.marker_names.index("R.HF")].all()
    assert missing.sum() == 13
    assert missing[3, subject.marker_names.index("R.GTR")]
