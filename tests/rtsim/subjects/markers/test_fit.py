"""Whose trial is it: distances that movement leaves alone, of real recordings and a made-up person."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import calibrate, subject_for
from rtsim.subjects.markers.fit import LARGEST_MISFIT, SubjectFit, fault_of, fit_of, sentences
from tests.rtsim.subjects.recordings import DATA, RECORDINGS, read, trial_in

WHOSE = "the subject anna"
Person = Callable[..., MarkerTrial]
recordings = pytest.mark.skipif(not DATA.is_dir(), reason="needs the recordings")
CROSSED = [
    *((f"gait_mcgill/{a}.c3d", f"gait_mcgill/{b}_static.c3d")
      for a, b in (("HC002D_straight", "HC030A"), ("HC030A_straight", "HC002D"), ("HC030A_turn", "HC002D"))),
    *((f"gait_bmc/{a}.trc", f"gait_bmc/{b}.trc")
      for a in ("walk", "walk1", "walk2") for b in ("walk", "walk1", "walk2") if a != b),
]  # fmt: skip


@recordings
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.trial)
@pytest.mark.parametrize("side", ["", "right", "left"])
def test_recordings_fit_their_own_static(recording, side):
    """Protects from false alarms, also where a tenth of the trial alone is there."""
    trial, static = read(recording)
    subject = subject_for(trial, static, side=side)
    part = slice(0, len(trial.times) // 2)
    for seen in (trial, trial._replace(times=trial.times[part], positions=trial.positions[part])):
        fit = fit_of(subject, seen)
        assert fit is not None
        assert fault_of(fit, WHOSE, "t") is None
        assert sentences(fit) == []
        assert fit.misfit < LARGEST_MISFIT


@recordings
@pytest.mark.parametrize(("trial", "static"), CROSSED)
def test_recordings_do_not_fit_another_static(trial, static):
    """Protects every person's results from another's bones, child or adult, of both legs and of one."""
    for side in ("", "right", "left"):
        subject = subject_for(trial_in(static), side=side)
        fit = fit_of(subject, trial_in(trial))
        assert fit is not None
        assert fault_of(fit, WHOSE, "t") is not None, side


def test_markers_put_on_anew_are_told_and_another_size_is_refused() -> None:
    """Protects clean trials of labs that are worse than those seen: size speaks, too, before a refusal."""
    assert sentences(SubjectFit(0.009)) == []
    assert fault_of(SubjectFit(0.014, scale=1.005), WHOSE, "t") is None
    assert len(sentences(SubjectFit(0.014, scale=1.005))) == 1
    assert fault_of(SubjectFit(0.014, scale=0.97), WHOSE, "t") is not None
    assert fault_of(SubjectFit(0.025), WHOSE, "t") is not None


def test_size_is_told(person: Person) -> None:
    """Protects who has two siblings: all distances differ by one factor."""
    subject = calibrate(person())
    fit = fit_of(subject, person(size=0.8))
    assert fit is not None
    assert fit.scale == pytest.approx(0.8, abs=0.01)
    fault = fault_of(fit, WHOSE, "t")
    assert fault is not None
    assert "and 20 % smaller" in str(fault)


def test_mirrored_axes_are_told(person: Person) -> None:
    """Protects from left-handed axes, in which every distance within a segment is right."""
    subject, trial = calibrate(person()), person()
    fit = fit_of(subject, trial._replace(positions=trial.positions * [1.0, 1.0, -1.0]))
    assert fit is not None
    assert fit.mirrored
    assert "mirror image" in str(fault_of(fit, WHOSE, "t"))


def test_a_label_of_the_other_leg_is_found(person: Person) -> None:
    """Protects one leg from a marker that stands on the other, which is not followed."""
    trial = person()
    subject = calibrate(trial)
    far = trial.positions[:, trial.names.index("R.Knee")] + np.array([0.0, 0.1, -0.3])
    positions = np.concatenate([trial.positions, far[:, None]], axis=1)
    k = trial.names.index("R.Knee")
    positions[:, [k, -1]] = positions[:, [-1, k]]
    fit = fit_of(subject, trial._replace(names=(*trial.names, "L.Knee"), positions=positions))
    assert fit is not None
    assert fit.exchanged == (("R.Knee", "L.Knee"),)


def test_too_little_says_nothing(person: Person) -> None:
    """Protects from judging by three distances."""
    trial = person()
    positions = np.full_like(trial.positions, np.nan)
    positions[:, :3] = trial.positions[:, :3]
    assert fit_of(calibrate(trial), trial._replace(positions=positions)) is None
