"""Sources of markers: a synthetic walker or jaw, a file, or a stream; and the subject that belongs to
them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.formats import MARKERS, in_words
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.files.markers.trial import MarkerTrial
    from rtsim.subjects.subject import Subject

WALKER = "walker"
JAW = "jaw:"
"""Beginning of the names of the synthetic jaw's movements."""
MADE_UP = (WALKER, "jaw:chewing", "jaw:protrusion", "jaw:opening")
"""Sources that are neither files nor streams."""
NATURAL, LOADS = ".npz", ".xml"
"""Endings of files of synthetic markers with their true motion, and of OpenSim's external loads."""
FASTEST = 10_000.0
"""Highest rate of the synthetic walker [Hz]."""
RATE = 100.0
"""Frame rate of the synthetic walker, unless given [Hz]."""
MOST_FRAMES = 1_000_000
"""Largest number of frames of the synthetic walker, which must fit into memory; --loop repeats them."""
FILES = in_words(MARKERS)
STREAM_OVER = "the marker stream is over"
"""Reason that is reported if a run ends with its stream."""


def is_c3d(source: str) -> bool:
    """Return whether a source is a C3D file, which may have force plates beside the markers."""
    return Path(source).suffix.lower() == ".c3d"


def check_there(source: str, where: str = "SOURCE", or_else: str = "") -> None:
    """Raise ConfigError for a source that is neither synthetic nor an existing file.

    where : name of the option or argument, for the error
    or_else : further kinds of allowed sources, for the error
    """
    if source not in MADE_UP and not Path(source).exists():
        allowed = f"{', '.join(MADE_UP)}, {FILES}{or_else}"
        raise ConfigError(f"no such source {source!r}", where=where, allowed=allowed)


def check_source(source: str, streams: bool = True, where: str = "--source") -> None:
    """Raise ConfigError for a source that is neither synthetic, nor an existing file of markers, nor, where
    `streams` is set, the address of a stream; where : name of the option, for the error
    """
    from rtsim.files.markers.markers import check_kind

    if source in MADE_UP or (is_stream(source) and streams):
        return
    check_there(source, where, ", or tcp://HOST:PORT" if streams else "")
    if Path(source).suffix.lower() != NATURAL:
        check_kind(source)


def check_playing(
    source: str, speed: float, rate: float | None, duration_s: float, start_s: float, end_s: float | None
) -> None:
    """Raise ConfigError for a pace, a duration or a part of the source that cannot be played.

    rate [Hz] and duration_s [s] are those of the synthetic walker and jaw.
    """
    for option, value in (("--rate", rate), ("--duration", duration_s)):
        if source not in MADE_UP and value:
            raise ConfigError(
                f"this option applies only to the synthetic walker and jaw, but the source is {source}",
                where=option,
                remedy="leave it out",
            )
    if not 0.0 < speed < math.inf:
        raise ConfigError(
            f"{speed} is not a playing speed",
            where="--speed",
            allowed="a factor of more than 0, where 1 is the recorded rate",
        )
    if rate is not None and not 0.0 < rate <= FASTEST:
        raise ConfigError(
            f"{rate} is not a frame rate",
            where="--rate",
            allowed=f"a rate of more than 0, at most {FASTEST:g} Hz",
        )
    if not 0.0 <= duration_s * (rate or RATE) <= MOST_FRAMES:
        longest = MOST_FRAMES / (rate or RATE)
        raise ConfigError(
            f"{duration_s} is not a duration", where="--duration", allowed=f"0 (ten seconds) to {longest:g} s"
        )
    if not 0.0 <= start_s < math.inf:
        raise ConfigError(f"{start_s} is not a start time", where="--start", allowed="0 s or more")
    if end_s is not None and not end_s >= start_s:
        raise ConfigError(
            f"{end_s} is not an end time", where="--end", allowed=f"{start_s:g} s (--start) or more"
        )


def check_corrections(source: str, units: str | None, up: str | None) -> None:
    """Raise ConfigError for an invalid unit or up axis, or for one that is given for a source whose unit and
    axes are known.
    """
    from rtsim.files.forces.force_units import check_units
    from rtsim.files.markers.axes import parse_up

    if (units or up) and (source in MADE_UP or Path(source).suffix.lower() == NATURAL):
        raise ConfigError(
            f"the units and axes of {source!r} are known and cannot be changed",
            where="--units" if units else "--up",
            remedy="leave it out",
        )
    if units:
        check_units(units, "--units")
    if up:
        parse_up(up, "--up")


def load_trial(
    source: str,
    duration_s: float = 0.0,
    rate: float | None = None,
    *,
    units: str | None = None,
    up: str | None = None,
    side: str = "",
    person: str = "",
    unnamed: bool = False,
) -> MarkerTrial:
    """Load the frames of a source that is not a stream.

    duration_s [s], rate [Hz] and side apply to the synthetic walker, and the first two also to the synthetic
    jaw. For a file they are ignored, as it has its own.
    units, up : unit of length and up axis that override those of a marker file; person : which of several
        persons in it to use
    unnamed : whether trajectories without names are kept
    """
    from rtsim.files.markers.markers import read_markers

    check_corrections(source, units, up)
    if source == WALKER:
        from rtsim.models.load import ONE_LEG, load_model, model_for
        from rtsim.subjects.made_up.walker import walk

        subject = the_walker(side)
        return walk(load_model(model_for(ONE_LEG, subject.side)), subject, duration_s or 10.0, rate or RATE)
    check_source(source, streams=False, where="SOURCE")
    if source in MADE_UP:
        from rtsim.models.load import load_model
        from rtsim.subjects.made_up.jaw import move_jaw

        return move_jaw(load_model("mandible"), source.removeprefix(JAW), duration_s or 10.0, rate or RATE)
    path = Path(source)
    if path.suffix.lower() == NATURAL:
        from rtsim.files.markers.natural import read_natural

        return read_natural(path).markers
    return read_markers(path, up=up, units=units, person=person, unnamed=unnamed)


def side_of_walker(run: RunConfig) -> str:
    """Return which legs the synthetic walker must have for a run: both if the run requests both or the model
    has both.
    """
    from rtsim.models.load import BOTH_LEGS

    return "both" if run.model == BOTH_LEGS else run.side


def the_walker(side: str = "") -> Subject:
    """Return the shipped subject of the synthetic walker with the legs `side`: the right one, or both, where
    the left leg is the mirror image of the right; ConfigError for a left leg alone.
    """
    from rtsim.subjects.both_sides import symmetric
    from rtsim.subjects.subject import load_subject

    if side == "left":
        raise ConfigError(
            "the synthetic walker cannot have the left leg alone", where="--side", allowed="right, both"
        )
    subject = load_subject(find_config(WALKER, "subjects"))
    return symmetric(subject) if side == "both" else subject


def subject_of_walker(run: RunConfig) -> Subject:
    """Return the shipped subject of the synthetic walker for a run that names no subject; ConfigError for a
    static trial, from which nobody would be calibrated.
    """
    if run.static:
        raise ConfigError(
            "the synthetic walker is calibrated already, so no person would be taken from the static trial",
            where="--static", allowed=f"with {FILES}, or tcp://HOST:PORT, as --source",
            remedy="name the recording or the stream of the person in the static trial",
        )  # fmt: skip
    return the_walker(side_of_walker(run))


def brings_markers(run: RunConfig, spec: ModelSpec) -> bool:
    """Return whether a run uses the markers of the model itself, not those of a person."""
    return not (run.subject or run.static or spec.of_subject)


def subject_if_any(run: RunConfig, spec: ModelSpec) -> Subject | None:
    """Return the person whose markers a run uses; None if it uses those of the model itself."""
    return None if brings_markers(run, spec) else resolve_subject(run)


def check_own_markers(run: RunConfig) -> None:
    """Raise ConfigError for settings that do not fit a run with a model that brings its own markers."""
    if run.source == WALKER:
        raise ConfigError(
            "the synthetic walker has the markers of its own leg, not those of the model",
            where="--source",
            allowed=f"{FILES}, or tcp://HOST:PORT",
            remedy="give a recording or a stream that contains the markers of the model",
        )
    if run.mass_kg:
        raise ConfigError(
            "a model that defines its own markers has its own masses",
            where="--mass",
            remedy="remove the option, or scale the model with `rtsim scale` and the mass of the person",
        )
    given = {"--lab": run.lab, "--side": run.side, "--measures": run.measures}
    option = next((name for name, value in given.items() if value), "")
    if option:
        raise ConfigError(
            "the model defines its own markers, so no person is calibrated",
            where=option,
            remedy="leave it out",
        )


def check_subject_given(run: RunConfig) -> None:
    """Raise ConfigError if a run has neither a subject nor a static trial although it needs one: for a live
    stream, and for the labelling of markers without names.
    """
    if run.label_unnamed and not (run.subject or run.static):
        raise ConfigError(
            "markers without names can be identified only if the distances between the markers are known",
            where="--label-unnamed", allowed="only with --static FILE or --subject FILE",
            remedy="give the static trial of this person and session, with named markers",
        )  # fmt: skip
    if is_stream(run.source) and not (run.subject or run.static):
        raise ConfigError(
            "a live stream of markers needs a calibrated subject",
            where="--subject",
            remedy="make a subject from a static trial with `rtsim calibrate STATIC`, or give --static FILE",
        )


def resolve_subject(run: RunConfig) -> Subject:
    """Return the subject of a run: as given, as shipped with the walker, or calibrated from the static trial
    or the trial itself.
    """
    from rtsim.models.load import BOTH_LEGS, ONE_LEG
    from rtsim.subjects.both_sides import one_side
    from rtsim.subjects.subject import load_subject

    if run.subject:
        subject = load_subject(find_config(run.subject, "subjects"))
        if run.side == "both" and subject.side != "both":
            raise ConfigError(
                f"{run.subject} has the {subject.side} leg alone",
                where="--side",
                remedy="calibrate with the markers of both legs, or leave --side out",
            )
        wanted = run.side in ("right", "left") and subject.side == "both"
        if run.side in ("right", "left") and not wanted and subject.side != run.side:
            raise ConfigError(
                f"{run.subject} has the {subject.side} leg alone",
                where=f"--side {run.side}",
                remedy=f"give a --subject with the {run.side} leg, or leave --side out",
            )
        return one_side(subject, run.side) if wanted else subject
    if run.source == WALKER:
        return subject_of_walker(run)
    check_subject_given(run)
    if Path(run.source).suffix.lower() == NATURAL and not run.static:
        from rtsim.files.markers.natural import read_natural
        from rtsim.subjects.natural_subject import subject_of_cycle

        return subject_of_cycle(read_natural(run.source))
    from rtsim.subjects.calibration.calibration import subject_for
    from rtsim.subjects.calibration.person_measures import AskedMeasures

    trial = run.static if is_stream(run.source) or run.label_unnamed else run.source
    return subject_for(
        Path(trial),
        Path(run.static) if run.static else None,
        lab=run.lab or None,
        side=run.side or ("" if run.model in (ONE_LEG, BOTH_LEGS) else "right"),
        units=run.units or None,
        up=run.up or None,
        person=run.person,
        measures=AskedMeasures(run.measures, run.measured),
    )
