"""The estimator as a process: it prepares subject, kernels, sockets and loop, and runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from kernels.compiler.cache import cache_fault
from rtsim.config.runs.run_schema import RunConfig
from rtsim.device.rights import RunRights
from rtsim.errors import ConfigError
from rtsim.live.compiled.cache_warming import FASTEST, FASTEST_WITH_FORCES, CacheWarming
from rtsim.live.compiled.group_table import groups_of
from rtsim.live.compiled.groups import compile_groups
from rtsim.live.compiled.warm_up import neutral, warm_up
from rtsim.live.exact.build import build_facts
from rtsim.live.exact.journal import TOPIC, RunJournal
from rtsim.live.exact.run_files import noting_files, parts_of
from rtsim.live.inputs.inputs import StreamInput
from rtsim.live.inputs.paired import PairedInput
from rtsim.live.inputs.sources import subject_if_any
from rtsim.live.loop import Loop
from rtsim.live.processes.requests import EstimatorRequest, encoded
from rtsim.live.subjects.person_mass import KnownMass, known_mass, weighs
from rtsim.live.subjects.subject_check import notes_of_person
from rtsim.live.subjects.unnamed_check import check_named, unnamed_of
from rtsim.methods.kinematics.choice import methods_of
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model, model_for
from rtsim.stages.building.find import make_stages
from rtsim.stages.building.first_stage import kinematics_of
from rtsim.stages.markers.live_subject_check import LiveSubjectCheck
from rtsim.stages.stage import Stage
from rtsim.subjects.anatomy import for_person
from streams.access.security import Security
from streams.account import LONGEST, bounded
from streams.addresses import is_stream
from streams.capture.system import is_capture
from streams.clock import now_ns
from streams.control.commands import ControlServer
from streams.messages import marker_session
from streams.publisher import Publisher

Say = Callable[[dict], None]
POLL_S = 0.02


def prepare(run: RunConfig, forces: ForceFeed | None = None) -> list[Stage]:
    """Build the stages of a run, which are the computations carried out for each frame, and call all their
    kernels once with synthetic frames, so that nothing is compiled during the run.

    forces : receiver of the force plates' samples; None = the run uses no forces
    """
    spec = load_model(run.model)
    methods_of(run, spec)  # told before a subject is looked for
    subject = subject_if_any(run, spec)
    if subject is not None:
        spec = for_person(load_model(model_for(run.model, subject.side)), subject)
    plates = forces is not None
    mass = known_mass(run, spec, subject, plates=plates) if plates or weighs(run) else KnownMass()
    stages = make_stages(run, spec, subject, forces, mass.mass_kg)
    kinematics = kinematics_of(stages)
    names = kinematics.estimator.model.names.markers
    warm_up(stages, marker_session(names, rate=100.0, t_start=0), neutral(kinematics.estimator))
    if mass.told:
        stages[-1].sentences.append(mass.told)
    return stages


REMEDIES = {
    True: "the static trial (--static) or subject (--subject) of this session of the person in the stream",
    False: "the model (--model) of the person in the stream",
}
"""Remedy for a stream of another person's markers, by whether a subject is followed."""


def serve(
    request: EstimatorRequest,
    say: Say,
    security: Security | None = None,
    markers_security: Security | None = None,
    forces_security: Security | None = None,
) -> None:
    """Estimate the marker stream of a request until it ends.

    Parameters
    ----------
    request : the run, its marker stream, and the subscribers to wait for; if it has no notes to publish,
        those on the calibration are published
    say : function called with {"state": "preparing"}, at the first start also with {"state": "compiling",
        "n_done": ..., "n_kernel": ...}, then {"state": "ready", "results": ..., "control": ...} and at the
        end {"state": "over", "reason": ...}
    security, markers_security, forces_security : keys of this server, and of this client for each stream; the
        keys for the markers also apply to the forces unless they have their own

    At the end ConfigError is raised if the markers of the stream, with or without names, did not belong to
    the subject.
    """
    run, markers, anyway = request.run, request.markers, request.anyway
    named = run.source if is_capture(run.source) else markers  # as users know it
    say({"state": "preparing"})
    groups = groups_of(run)
    compile_groups(groups, lambda p: say({"state": "compiling", "n_done": p.n_done, "n_kernel": p.n_kernel}))
    if cache_fault():
        say({"state": "preparing", "note": cache_fault()})
    feed = ForceFeed() if run.forces else None
    with noting_files() as files:
        stages, subject_check = stages_of(request, feed)
    files.note_texts(to_builtins(run))
    with Publisher(run.ports.results, security) as publisher:
        if feed is not None:
            where, wait_ms = (markers, run.forces), run.plates.wait_ms
            securities = markers_security, forces_security or markers_security
            source: StreamInput = PairedInput.beside(
                where, run.backlog, feed, wait_ms, securities, run.duration_s
            )
        else:
            source = StreamInput.at(markers, run.backlog, markers_security, run.duration_s)
        source.rehearsal = CacheWarming(stages, FASTEST if feed is None else FASTEST_WITH_FORCES)
        request = replace(request, notes=request.notes or tuple(notes_of(stages, run)))
        loop = Loop(
            source,
            stages,
            publisher,
            meta_of(run, request.notes, markers),
            takes_marks=True,
            first=run.priority == "first",
        )
        with ControlServer(run.ports.control, loop.command, loop.commands, security, RunRights()) as control:
            loop.control_events, loop.control_counters = control.events, control.journal.counters
            say({"state": "ready", "results": publisher.address, "control": control.address})
            await_subscribers(publisher, request.n_subscriber, request.wait_s)
            if publisher.is_heard(TOPIC):
                loop.journal = source.journal = RunJournal(publisher.send)
                loop.journal.opened(encoded(request), build_facts(), parts_of(files))
            reason = loop.run()
    say({"state": "over", "reason": reason})
    if not anyway:
        check_named(stages, run, named)
    if subject_check is not None and subject_check.unsettled and not anyway:
        raise ConfigError(
            f"{subject_check.unsettled}; its frames are suspect", where=named,
            remedy=f"give {REMEDIES[subject_check.tracked.is_person]}, correct the labels at the sender, "
            "or add --anyway",
        )  # fmt: skip


def stages_of(
    request: EstimatorRequest, feed: ForceFeed | None
) -> tuple[list[Stage], LiveSubjectCheck | None]:
    """Return the stages of a live run (the computations for each frame, with all kernels compiled), and the
    stage that checks whether the stream belongs to the subject, which is the last of them.

    If the run's source is no stream, there is no such stage, and None is returned in its place.

    feed : receiver of the force plates' samples; None = the run uses no forces
    """
    run = request.run
    stages = prepare(run, feed)
    unnamed = unnamed_of(stages)
    if unnamed is not None:
        unnamed.keep_pace()
    if not is_stream(run.source):
        return stages, None
    subject_check = subject_check_of(stages, run.source if is_capture(run.source) else request.markers)
    return [*stages, subject_check], subject_check


def subject_check_of(stages: Sequence[Stage], where: str) -> LiveSubjectCheck:
    """Return the stage that checks during the run whether a stream belongs to the tracked person, or fits the
    tracked model.

    where : address of the stream, for messages
    """
    return LiveSubjectCheck(kinematics_of(stages), where)


def meta_of(run: RunConfig, notes: Sequence[str] = (), markers: str = "") -> dict[str, Any]:
    """Return the metadata of a run (`Session.meta`) for the messages that describe its stream of results:
    model, choices, source, addresses of the streams, vertical axis, and notes.

    notes : sentences for users about the data and the person's calibration, "FILE: SENTENCE" each
    markers : address of the marker stream; "" = the run reads files, so that run.forces is no address and is
        left out
    """
    streams = {"markers": markers, "forces": run.forces if markers else ""}
    addresses = {name: address for name, address in streams.items() if address}
    chosen: dict[str, Any] = {"chosen": list(run.chosen)} if run.chosen else {}
    if run.person:
        chosen["person"] = run.person
    if run.static:
        chosen["static"] = run.static
    return {
        "model": run.model,
        **chosen,
        "source": run.source,
        "up": "Y",
        **addresses,
        "notes": bounded([fitting(note) for note in notes]),
    }


def fitting(note: str) -> str:
    """Return a note of the form "FILE: SENTENCE"; the folder of the file is left out if the note would be too
    long for a descriptor.
    """
    where, colon, what = note.partition(": ")
    return f"{Path(where).name}{colon}{what}" if colon and len(note) > LONGEST else note


def notes_of(stages: Sequence[Stage], run: RunConfig) -> list[str]:
    """Return sentences for users about the calibration of the tracked person."""
    kinematics = kinematics_of(stages)
    return notes_of_person(kinematics.subject, run)


def await_subscribers(publisher: Publisher, n_subscriber: int, wait_s: float) -> None:
    """Wait until this many subscribers receive the results, or for wait_s [s]."""
    due = now_ns() + int(1e9 * wait_s)
    while publisher.n_subscriber < n_subscriber and now_ns() < due:
        publisher.wait_for_subscriber(POLL_S)
        time.sleep(POLL_S)
        publisher.service()
