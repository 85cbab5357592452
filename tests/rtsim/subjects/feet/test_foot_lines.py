"""Heel and toes from the markers of a laboratory."""

from __future__ import annotations

import numpy as np

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.feet.foot_lines import TOES, foot_lines
from rtsim.subjects.feet.foot_markers import FootMarkers
from rtsim.subjects.markers.labs import load_lab
from rtsim.subjects.subject import Subject, SubjectSegment

FOOT = {
    "R.Heel": (0.0, 0.03, 0.0),
    "R.MT1": (0.2, 0.04, -0.04),
    "R.MT2": (0.2, 0.04, 0.0),
    "R.MT5": (0.18, 0.04, 0.05),
}


def trial_of(places: dict[str, tuple[float, float, float]]) -> MarkerTrial:
    return MarkerTrial(
        tuple(places),
        np.array([0.0, 0.01]),
        np.tile(np.array(list(places.values())), (2, 1, 1)),
        100.0,
        "made",
    )


def test_toes_lie_beyond_the_metatarsals():
    """Protects the length of the foot: markers of the forefoot are not yet its end."""
    lines = foot_lines(trial_of(FOOT), load_lab("bmc"))
    np.testing.assert_allclose(lines[0, 0, 0], [0.0, 0.03, 0.0])
    forefoot = np.mean([FOOT["R.MT1"], FOOT["R.MT2"], FOOT["R.MT5"]], axis=0)
    np.testing.assert_allclose(lines[1, 0, 1], np.array(FOOT["R.Heel"]) + TOES * (forefoot - FOOT["R.Heel"]))
    assert np.isnan(lines[:, 1]).all()


def test_a_lateral_marker_alone_is_moved_to_the_middle():
    """Protects feet with one marker in front: the line is not the outer edge of the foot, on either side."""
    places = {
        "R.Heel": (0.0, 0.03, 0.1),
        "R.MT5": (0.2, 0.03, 0.15),
        "L.Heel": (0.0, 0.03, -0.1),
        "L.MT5": (0.2, 0.03, -0.15),
    }
    lines = foot_lines(trial_of(places), load_lab("lenhart"))
    right, left = lines[0]
    assert abs(right[1, 2] - 0.1) < 0.02
    np.testing.assert_allclose(left, right * [1, 1, -1])


def test_a_marker_that_is_gone_makes_the_foot_unseen():
    """Protects from a foot that jumps when a marker goes."""
    trial = trial_of(FOOT)
    trial.positions[1, 2] = np.nan
    lines = foot_lines(trial, load_lab("bmc"))
    assert np.isfinite(lines[0, 0]).all()
    assert np.isnan(lines[1, 0, 1]).all()


def test_feet_have_the_sides_of_the_person() -> None:
    """Protects one meaning of a side: where the labels of the legs are exchanged, forces on feet are named as
    joint moments are."""
    lab = load_lab("bmc")
    labels = [name for side in (lab.right, lab.left) for name in (side.calcaneus, side.metatarsal_1)]
    frame = np.array([[0.1, 0.0, 0.2], [0.3, 0.0, 0.2], [0.5, 0.0, -0.2], [0.7, 0.0, -0.2]])
    marks = {
        side: dict.fromkeys(names, (0.0, 0.0, 0.0)) for side, names in (("r", labels[2:]), ("l", labels[:2]))
    }
    feet = {f"foot_{side}": SubjectSegment(100.0, 90.0, 90.0, 90.0, own) for side, own in marks.items()}
    crossed = Subject("anna", "made up", feet, "both")
    plain = FootMarkers(labels, lab, 1.0, False).take(frame).copy()
    found = FootMarkers(labels, lab, 1.0, False, crossed)
    np.testing.assert_array_equal(found.take(frame), plain[::-1])
    assert found.bearing(labels[2:], 1) == 0
    alone = Subject("anna", "made up", {"foot": feet["foot_r"]}, "right")
    np.testing.assert_array_equal(FootMarkers(labels, lab, 1.0, False, alone).take(frame), plain[::-1])


def test_frames_of_another_shape_have_no_feet() -> None:
    """Protects memory: arrays that the kernel was not made for are not read, and leave no former line."""
    lab = load_lab("walker")
    labels = (lab.right.calcaneus, lab.right.metatarsal_1)
    feet, frame = FootMarkers(labels, lab, 1.0, False), np.array([[0.1, 0.0, 0.0], [0.3, 0.0, 0.0]])
    for wrong in (frame[:1], frame.astype(np.float32), frame.T.copy().T, np.zeros((2, 6))[:, ::2]):
        assert np.isfinite(feet.take(frame)[0]).all()
        assert np.isnan(feet.take(wrong)).all()
