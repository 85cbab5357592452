"""Who stands in a static trial, and what is no standing person."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.lab_proposal.standing_markers import standing_markers
from tests.rtsim.subjects.lab_proposal.standing_person import places, trial_of


def test_the_still_part_is_taken() -> None:
    """Protects static trials in which the person steps in first: the still part is taken."""
    trial = trial_of(places(), n_frame=400)
    moving = trial.positions.copy()
    moving[:250] += np.linspace(-2.0, 0.0, 250)[:, None, None]
    found = standing_markers(trial._replace(positions=moving), "still.trc")
    np.testing.assert_allclose(found.points, trial.positions[0], atol=5e-3)
    assert "the part with the least motion, from" in found.notes[0]


def test_gaps_and_strangers_are_told() -> None:
    """Protects medians against gaps: a marker without data and one far away are left out by name."""
    trial = trial_of(places())
    positions = np.concatenate([trial.positions, np.full((50, 1, 3), 5.0)], axis=1)
    positions[:, 3] = np.nan
    positions[:30, 4] = np.nan
    found = standing_markers(trial._replace(names=(*trial.names, "wand"), positions=positions), "still.trc")
    assert trial.names[3] not in found.names
    assert trial.names[4] in found.names
    assert "wand" not in found.names
    assert [trial.names[3] in note or "wand" in note for note in found.notes] == [True, True]


def lying(x: np.ndarray) -> np.ndarray:
    return x[..., [1, 0, 2]] * (1.0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda x: x + np.linspace(0.0, 3.0, len(x))[:, None, None], "the person moves"),
        (lying, "nobody stands in the trial"),
        (lambda x: 1000.0 * x, "--units"),
        (lambda x: 0.001 * x, "--units"),
        (lambda x: np.full_like(x, np.nan), "no marker of the trial has data"),
        (lambda x: x[:, :7], "at least 10"),
        (lambda x: np.hstack([x, x + np.array([1.5, 0.0, 1.5])]), "2 persons stand in the trial"),
    ],
)
def test_what_is_no_standing_person_is_refused(change, word: str) -> None:
    """Protects against maps read off a pose that nobody has: one sentence for each."""
    trial = trial_of(places())
    positions = change(trial.positions)
    names = tuple(f"m{k}" for k in range(positions.shape[1]))
    with pytest.raises(ConfigError, match=word):
        standing_markers(trial._replace(names=names, positions=positions), "still.trc")


def test_one_name_of_two_persons_is_refused() -> None:
    """Protects against markers of two persons under one name."""
    trial = trial_of(places())
    twice = tuple(f"Ann:{name}" if k % 2 else f"Bob:{name}" for k, name in enumerate(trial.names))
    assert standing_markers(trial._replace(names=twice), "a").names == trial.names
    with pytest.raises(ConfigError, match="--person"):
        standing_markers(trial._replace(names=("Ann:RKNE", "Bob:RKNE", *trial.names[2:])), "still.trc")
