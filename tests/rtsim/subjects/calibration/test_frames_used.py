"""Static trials that are cut, too short, or mostly without markers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.subject import Subject

Person = Callable[..., MarkerTrial]


def first(trial: MarkerTrial, n: int) -> MarkerTrial:
    """The first n frames."""
    return trial._replace(times=trial.times[:n], positions=trial.positions[:n])


def test_a_short_static_trial_is_told(person: Person) -> None:
    """Protects a run from a static trial of a frame or two that nobody hears of."""
    trial = person()
    notes = subject_for(trial, first(trial, 2), side="right").notes
    assert sum("of 2 frames, only the 2 in which" in note for note in notes) == 1
    assert not subject_for(trial, trial, side="right").notes


def test_a_static_trial_mostly_without_markers_is_told(person: Person) -> None:
    """Protects a run from a static trial whose markers are seen in a few of many frames."""
    trial = person()
    wide = trial.positions.repeat(10, axis=0)
    wide[:108, trial.names.index("R.Knee")] = np.nan
    sparse = trial._replace(times=np.arange(len(wide)) / trial.rate, positions=wide)
    notes = subject_for(trial, sparse, side="right").notes
    assert any("of 120 frames, only the 12 in which" in note for note in notes)
    wide[:, trial.names.index("R.Knee")] = np.nan
    with pytest.raises(ConfigError, match=r"R\.Knee"):
        subject_for(trial, sparse, side="right")


def test_what_the_reader_says_of_a_static_trial_is_told(person: Person) -> None:
    """Protects the sentence of a reader on a file that ends early: it goes with the subject."""
    trial = person()
    cut = trial._replace(
        notes=("the header states 500 frames, but the file ends after 12 frames; all 12 frames were read",)
    )
    assert subject_for(trial, cut, side="right").notes == cut.notes
    assert not subject_for(cut, side="right").notes  # of the trial itself the command tells


def shifted(trial: MarkerTrial, name: str, frames: slice) -> MarkerTrial:
    """The trial with one marker 60 mm off in some frames."""
    positions = trial.positions.copy()
    positions[frames, trial.names.index(name)] += [0.02, 0.04, 0.04]
    return trial._replace(positions=positions)


def places(subject: Subject) -> list[float]:
    """Lengths and coordinates of all markers of a subject in a row [mm]."""
    found = [segment.length_mm for segment in subject.segments.values()]
    return found + [c for s in subject.segments.values() for x in s.markers_mm.values() for c in x]


@pytest.mark.parametrize("name", ["R.ASIS", "R.Iliac.Crest", "R.Knee.Medial", "R.Ankle", "R.Heel", "R.MT2"])
def test_frames_with_a_marker_off_do_not_calibrate(person: Person, name: str) -> None:
    """Protects lengths and places from a marker that is beside its landmark in a third of the trial."""
    trial = person(n_frame=30)
    found = subject_for(shifted(trial, name, slice(0, 10)), side="right")
    assert_allclose(places(found), places(subject_for(trial, side="right")), atol=1e-6)
    assert any("left out" in note for note in found.notes)


def test_markers_that_do_not_calibrate_are_named(person: Person) -> None:
    """Protects the sentence on frames that are left out: which marker, and on how many."""
    trial = shifted(person(n_frame=30), "R.Heel", slice(0, 10))
    (told,) = subject_for(trial, side="right").notes
    assert told.startswith("10 of 30 frames were left out")
    assert "is elsewhere on its segment than in most frames (R.Heel on 10 frames)" in told


def test_markers_that_are_not_followed_are_held_to_their_places(person: Person) -> None:
    """Protects a static trial: a landmark whose marker the walk lacks is judged there, too."""
    trial = person(n_frame=30)
    static = shifted(trial, "R.Ankle.Medial", slice(20, 30))
    walk = person(("R.Ankle.Medial",), n_frame=30)
    found = subject_for(walk, static, side="right")
    assert_allclose(places(found), places(subject_for(walk, trial, side="right")), atol=1e-6)


def test_where_most_frames_disagree_all_are_used_and_told(person: Person) -> None:
    """Protects against the choice of a few frames that happen to be alike."""
    trial = person(n_frame=30)
    for k, name in enumerate(("R.Iliac.Crest", "R.HF", "R.Heel")):
        trial = shifted(trial, name, slice(8 * k, 8 * k + 8))
    found = subject_for(trial, side="right")
    assert found.n_frame == 30
    assert [
        n for n in found.notes if n.startswith("check the markers of the calibration: in 24 of 30 frames")
    ]


def test_gaps_say_nothing_of_places(person: Person) -> None:
    """Protects frames that lack a marker no landmark needs: they calibrate as before."""
    trial = person(n_frame=30)
    gaps = trial.positions.copy()
    gaps[:20, trial.names.index("R.MT2")] = np.nan
    gaps[10:, trial.names.index("R.Iliac.Crest")] = np.nan
    found = subject_for(trial._replace(positions=gaps), side="right")
    assert found.n_frame == 30
    assert not found.notes
