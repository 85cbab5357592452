"""Checks before the first frame whether the markers of a trial belong to the subject; faults are reported or
end the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some, with_names_told
from rtsim.live.inputs.sources import WALKER, load_trial, subject_if_any
from rtsim.methods.kinematics.choice import followed_by, method_of
from rtsim.models.following import with_markers
from rtsim.models.model import Model, build
from rtsim.models.tracked import TrackedModel, tracked_model, tracked_person
from rtsim.subjects.calibration.proportions import check_stature
from rtsim.subjects.markers.fit import MIRROR, SubjectFit, fault_of, fit_of_trial, sentences
from rtsim.subjects.markers.knee_axes import notes_on_knee_axes
from rtsim.subjects.markers.marker_names import find_markers
from rtsim.subjects.markers.persons import check_one_person
from rtsim.subjects.subject import kind_of_segment
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.files.markers.trial import MarkerTrial
    from rtsim.subjects.subject import Subject

MASS_ALONE = (
    "{static}: because the subject {subject} is given, this trial is used only for the body mass, if it "
    "contains force plates"
)
ALL_THE_SAME = "solved in spite of this, because of --anyway"


def notes_before(run: RunConfig, *, anyway: bool = False) -> tuple[str, ...]:
    """Return the notes that a user should read before a run: notes of the file's reader, on the calibration,
    and on how well the markers of the trial fit the person.

    anyway : whether a trial of another person is only reported instead of raising an error

    Raises ConfigError for a trial without data, without a tracked marker, or of another person.
    """
    from rtsim.models.load import load_model

    if run.source == WALKER and not (run.subject or run.static):
        return ()
    spec = load_model(run.model)
    person = subject_if_any(run, spec)
    told = notes_of_person(person, run)
    if is_stream(run.source) or run.source == WALKER:
        return tuple(told)
    trial = load_trial(
        run.source, units=run.units or None, up=run.up or None, person=run.person, unnamed=run.label_unnamed
    )
    told = [f"{run.source}: {note}" for note in trial.notes] + told
    try:
        if person is None:
            tracked, on_axes = tracked_model(followed_model(run, spec)), []
        else:
            check_name_of_static(run, trial, anyway)
            tracked, on_axes = tracked_person(person), notes_on_knee_axes(person, trial)
        if run.label_unnamed and not find_markers(tracked.names, trial.names):
            return tuple(told)  # whose they are shows as they come
        fits = [*notes_on_fit(tracked, trial, run.source, anyway=anyway), *on_axes]
    except ConfigError as fault:
        raise with_names_told(fault, trial) from None
    return (*told, *(f"{run.source}: {said}" for said in fits))


def check_name_of_static(run: RunConfig, trial: MarkerTrial, anyway: bool) -> None:
    """Raise ConfigError for a static trial whose labels name another person than those of the trial, unless
    `anyway`.
    """
    if trial.person and run.static and not run.subject:
        static = load_trial(run.static, units=run.units or None, up=run.up or None)
        check_one_person(trial, static, anyway=anyway)


def notes_of_person(person: Subject | None, run: RunConfig) -> list[str]:
    """Return notes on the calibration of the person, and on legs that do not match the stature; ConfigError
    for an impossible stature.
    """
    if person is None:
        return []
    where = run.subject or run.static or run.source
    lengths = {kind_of_segment(name): 1e-3 * s.length_mm for name, s in person.segments.items()}
    odd: list[str] = []
    if run.subject and person.stature_mm:  # a calibration has checked its own
        odd = check_stature(lengths, 1e-3 * person.stature_mm, where)
    beside = [MASS_ALONE.format(static=run.static, subject=run.subject)] * bool(run.subject and run.static)
    return [*(f"{where}: {note}" for note in (*person.notes, *odd)), *beside]


def followed_model(run: RunConfig, spec: ModelSpec) -> Model:
    """Build the model with its own markers that a run tracks, with those markers that the run uses and their
    weights.
    """
    return with_markers(build(spec, None, method_of(run, spec)), followed_by(run, spec))


def notes_on_fit(tracked: TrackedModel, trial: MarkerTrial, where: str, *, anyway: bool = False) -> list[str]:
    """Return notes on how well a trial fits the tracked person or model; ConfigError if it does not, unless
    `anyway`.

    where : file of the trial, for the error
    """
    check_shown(tracked.names, f"{tracked.kind}'s", trial, where)
    if tracked.mirrors:
        trial = trial._replace(positions=MIRROR * trial.positions)
    fit = fit_of_trial(tracked.ruler, tracked.names, trial)
    if fit is None:
        return []
    fault = fault_of(fit, tracked.title, where, tracked.remedy, sized=tracked.is_person)
    return told_of(fit, fault, f"the {tracked.kind}", anyway)


def told_of(fit: SubjectFit, fault: ConfigError | None, whose: str, anyway: bool) -> list[str]:
    """Return notes on how well the markers of a trial fit a person or model.

    fit : result of the comparison of distances between markers
    fault : error to raise if the trial does not fit; with `anyway` it becomes a note; None = the trial fits
    whose : the person or model, in words
    """
    if fault is None:
        return sentences(fit, whose)
    if not anyway:
        raise fault
    return [f"{fault.what}; {ALL_THE_SAME}"]


def check_shown(names: tuple[str, ...], whose: str, trial: MarkerTrial, where: str) -> None:
    """Raise ConfigError for a trial without frames, or without any tracked marker; whose : person or model of
    the markers; where : the trial's file, for the error"""
    found = find_markers(names, trial.names)
    if not found:
        raise ConfigError(
            f"the recording has none of the {whose} markers, but {name_some(trial.names)}",
            where=where,
            allowed=name_some(names),
            remedy="give the model or the subject of this recording, or rename its markers",
        )
    if not np.isfinite(trial.positions[:, list(found.values())]).any():
        raise ConfigError(
            f"none of the {len(trial.times)} frames of the recording shows any of the {whose} markers",
            where=where,
            remedy="export the recording again, with the trajectories of its markers",
        )
