"""Where markers come from: the synthetic walker, a file, or a stream; and the subject that goes with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rtsim.config.paths import find_config
from rtsim.config.run_schema import Run
from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.files.trial import MarkerTrial
    from rtsim.models.subject import Subject

WALKER = "walker"
NATURAL = ".npz"


def is_stream(source: str) -> bool:
    """Whether a source is the address of a stream."""
    return "://" in source


def load_trial(
    source: str,
    duration_s: float = 0.0,
    rate: float | None = None,
    *,
    units: str | None = None,
    up: str | None = None,
) -> MarkerTrial:
    """The frames of a source that is no stream.

    duration_s and rate [Hz] are those of the synthetic walker; a file keeps its own.
    units, up : of a marker file, where it is wrong
    """
    from rtsim.files.markers import read_markers

    if (units or up) and (source == WALKER or Path(source).suffix.lower() == NATURAL):
        raise ConfigError(
            f"the units and axes of {source!r} are known",
            where="--units" if units else "--up",
            remedy="leave it out",
        )
    if source == WALKER:
        from rtsim.models.load import load_model
        from rtsim.models.subject import load_subject
        from rtsim.models.walker import walk

        subject = load_subject(find_config(WALKER, "subjects"))
        return walk(load_model("lower_limb"), subject, duration_s or 10.0, rate or 100.0)
    path = Path(source)
    if not path.exists():
        raise ConfigError(
            f"no such source {source!r}",
            where="--source",
            allowed="walker, a .trc, .c3d or .mcap file, or tcp://HOST:PORT",
        )
    if path.suffix.lower() == NATURAL:
        from rtsim.files.natural import read_natural

        return read_natural(path).markers
    return read_markers(path, up=up, units=units)


def resolve_subject(run: Run) -> Subject:
    """The subject of a run: given, shipped with the walker, or calibrated from the static or the trial."""
    from rtsim.models.subject import load_subject

    if run.subject:
        return load_subject(find_config(run.subject, "subjects"))
    if run.source == WALKER:
        return load_subject(find_config(WALKER, "subjects"))
    if is_stream(run.source) and not run.static:
        raise ConfigError(
            "a stream needs a subject model",
            where="--subject",
            remedy="make one from a static trial with `rtsim calibrate STATIC`, or give --static FILE",
        )
    if Path(run.source).suffix.lower() == NATURAL and not run.static:
        from rtsim.files.natural import read_natural
        from rtsim.models.natural_subject import subject_of_cycle

        return subject_of_cycle(read_natural(run.source))
    from rtsim.models.calibration import subject_for

    trial = run.static if is_stream(run.source) else run.source
    return subject_for(
        Path(trial),
        Path(run.static) if run.static else None,
        lab=run.lab or None,
        side=run.side,
        units=run.units or None,
        up=run.up or None,
    )
