"""The person whose markers a run over a recording solves, if it contains several persons."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import MADE_UP, NATURAL, brings_markers, load_trial
from rtsim.subjects.markers.persons import OPTION, Choice, choose_in, share_of, share_of_labs
from streams.addresses import is_stream


def with_person(run: RunConfig) -> tuple[RunConfig, tuple[str, ...]]:
    """Return the run with the name of the person whose markers it solves, and notes on the choice.

    Raises ConfigError if a recording contains several persons and none is requested, or if no person has the
    requested name. Persons in a stream are distinguished during the run (rtsim/stages/markers/marker_input).
    """
    if is_stream(run.source):
        return run, ()
    if run.source in MADE_UP or Path(run.source).suffix.lower() == NATURAL:
        if run.person:
            raise ConfigError(
                f"{run.source} has only one person", where=OPTION, remedy="leave the option out"
            )
        return run, ()
    choice = person_in(run)
    if not choice.person:
        return run, ()
    return msgspec.structs.replace(run, person=choice.person), tuple(
        f"{run.source}: {x}" for x in choice.told
    )


def person_in(run: RunConfig) -> Choice:
    """Return which person in the run's recording is solved: the requested one, or else the one whose markers
    the subject, the static trial, the marker map or the model needs.
    """
    from rtsim.models.load import load_model
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.subject import load_subject

    spec = load_model(run.model)
    known: dict[str, str] = {}
    if brings_markers(run, spec):
        share = share_of([marker.name for marker in spec.markers])
    elif run.subject:
        subject = load_subject(find_config(run.subject, "subjects"))
        share, known = (
            share_of(subject.marker_names),
            {subject.person: f"to whom the subject {run.subject} belongs"},
        )
    else:
        share = share_of_labs(load_lab(run.lab) if run.lab else None, run.side)
        if run.static and not run.person:
            alone = load_trial(run.static, units=run.units or None, up=run.up or None).person
            known = {alone: f"to whom the static trial {run.static} belongs"}
    trial = load_trial(run.source, units=run.units or None, up=run.up or None, unnamed=run.label_unnamed)
    return choose_in(trial, share, run.source, run.person, known, strict=True)
