"""Static trials that are cut, too short, or mostly without markers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import subject_for

Person = Callable[..., MarkerTrial]


def first(trial: MarkerTrial, n: int) -> MarkerTrial:
    """The first n frames."""
    return trial._replace(times=trial.times[:n], positions=trial.positions[:n])


def test_a_short_static_trial_is_told(person: Person) -> None:
    """Protects a run from a static trial of a frame or two that nobody hears of."""
    trial = person()
    notes = subject_for(trial, first(trial, 2), side="right").notes
    assert sum("of 2 frames it used the 2 that show" in note for note in notes) == 1
    assert not subject_for(trial, trial, side="right").notes


def test_a_static_trial_mostly_without_markers_is_told(person: Person) -> None:
    """Protects a run from a static trial whose markers are seen in a few of many frames."""
    trial = person()
    wide = trial.positions.repeat(10, axis=0)
    wide[:108, trial.names.index("R.Knee")] = np.nan
    sparse = trial._replace(times=np.arange(len(wide)) / trial.rate, positions=wide)
    notes = subject_for(trial, sparse, side="right").notes
    assert any("of 120 frames it used the 12 that show" in note for note in notes)
    wide[:, trial.names.index("R.Knee")] = np.nan
    with pytest.raises(ConfigError, match=r"R\.Knee"):
        subject_for(trial, sparse, side="right")


def test_what_the_reader_says_of_a_static_trial_is_told(person: Person) -> None:
    """Protects the sentence of a reader on a file that ends early: it goes with the subject."""
    trial = person()
    cut = trial._replace(notes=("the header says 500 frames, the file ends after 12: those were read",))
    assert subject_for(trial, cut, side="right").notes == cut.notes
    assert not subject_for(cut, side="right").notes  # of the trial itself the command tells
