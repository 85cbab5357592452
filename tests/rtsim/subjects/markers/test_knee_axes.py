"""The axes about which both knees bend show an epicondyle that was put forwards or backwards."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.markers.knee_axes import axis_turned, notes_on_knee_axes
from rtsim.subjects.subject import Subject, SubjectSegment

MARKERS = np.array([[40.0, -100.0, 30.0], [40.0, -200.0, -20.0], [-30.0, -250.0, 60.0], [10.0, -320.0, 70.0]])


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about an axis (Rodrigues)."""
    x, y, z = axis
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * skew @ skew


def walk(turned: dict[str, float], bend: float = 60.0, n: int = 120) -> tuple[Subject, MarkerTrial]:
    """Legs whose knees bend about axes that are turned by some degrees about the long axis of the thigh."""
    segments, names, columns = {}, [], []
    rng = np.random.default_rng(2)
    for side, suffix in (("right", "_r"), ("left", "_l")):
        mirror = np.array([1.0, 1.0, 1.0 if side == "right" else -1.0])
        axis = turn(np.array([0.0, 1.0, 0.0]), np.radians(turned[side])) @ np.array([0.0, 0.0, 1.0])
        for kind in ("thigh", "shank"):
            own = [f"{side[0]}{kind}{k}" for k in range(4)]
            segments[kind + suffix] = SubjectSegment(
                length_mm=400.0, alpha_deg=90.0, beta_deg=90.0, gamma_deg=90.0,
                markers_mm={name: tuple(x) for name, x in zip(own, mirror * MARKERS, strict=True)},
            )  # fmt: skip
            names += own
            track = np.empty((n, 4, 3))
            for k in range(n):
                swing = turn(np.array([0.0, 0.0, 1.0]), 0.4 * np.sin(0.1 * k))
                if kind == "shank":
                    swing = swing @ turn(axis, -np.radians(bend) * np.sin(0.05 * k) ** 2)
                track[k] = mirror * (1e-3 * MARKERS @ swing.T + [0.01 * k, 0.9, 0.1])
            columns.append(track + 5e-4 * rng.standard_normal(track.shape))
    trial = MarkerTrial(tuple(names), np.arange(n) / 100.0, np.concatenate(columns, axis=1), 100.0, "walk")
    return Subject(name="p", source="static", segments=segments, side="both"), trial


@pytest.mark.parametrize("right", [-15.0, 0.0, 10.0])
@pytest.mark.parametrize("left", [-15.0, 0.0, 10.0])
def test_the_axis_of_each_knee_is_found(right, left):
    """Within a degree, of both sides with the same sign, and told where they differ by 12 degrees."""
    person, trial = walk({"right": right, "left": left})
    assert axis_turned(person, trial, "right") == pytest.approx(right, abs=1.0)
    assert axis_turned(person, trial, "left") == pytest.approx(left, abs=1.0)
    assert bool(notes_on_knee_axes(person, trial)) == (abs(right - left) > 12.0)


def test_what_is_not_seen():
    """Knees that hardly bend, two markers on a segment, one leg, and markers that are missing say nothing."""
    person, trial = walk({"right": 20.0, "left": 0.0}, bend=20.0)
    assert notes_on_knee_axes(person, trial) == []
    person, trial = walk({"right": 20.0, "left": 0.0})
    assert "check the epicondyle markers" in notes_on_knee_axes(person, trial)[0]
    gaps = trial.positions.copy()
    gaps[:, 3], gaps[40:50, 9] = np.nan, np.nan
    assert len(notes_on_knee_axes(person, trial._replace(positions=gaps))) == 1
    blank = trial._replace(positions=np.full_like(trial.positions, np.nan))
    assert notes_on_knee_axes(person, blank) == []
    few = dict(person.segments)
    few["thigh_r"] = SubjectSegment(
        400.0, 90.0, 90.0, 90.0, dict(list(few["thigh_r"].markers_mm.items())[:2])
    )
    assert notes_on_knee_axes(Subject(name="p", source="s", segments=few, side="both"), trial) == []
    del few["thigh_r"]
    assert notes_on_knee_axes(Subject(name="p", source="s", segments=few, side="both"), trial) == []
