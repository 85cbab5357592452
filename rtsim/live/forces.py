"""The source of the plate forces, and the notes on them at the beginning of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rtsim.config.reading import is_file
from rtsim.config.runs.run_schema import FILE_KEYS, RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.sources import LOADS, WALKER, is_c3d
from rtsim.live.subjects.person_mass import mass_before, mass_of_model
from streams.addresses import is_stream

if TYPE_CHECKING:
    from rtsim.files.forces.force_trial import ForceTrial
    from rtsim.files.markers.trial import MarkerTrial

FOOT = re.compile(r"foot|feet|calc|heel|tal(us|ar)|toe|hallux|meta|sole|shoe", re.IGNORECASE)
"""Pattern of the names of bodies that are feet or parts of feet."""


def check_forces(run: RunConfig, streamed: bool = True) -> None:
    """Raise ConfigError if the forces that a run requests cannot be used, for example a missing file, or a
    file of forces for a stream of markers.

    streamed : whether force plates that are read from a stream are allowed
    """
    from rtsim.files.formats import FORCES, has_format, listed

    allowed = listed(FORCES) + (f", {WALKER}" if run.source == WALKER else "")
    allowed += ", or tcp://HOST:PORT" if streamed else ""
    if not run.forces or (is_stream(run.forces) and streamed):
        return
    if run.forces == WALKER:
        if run.source != WALKER:
            raise ConfigError(
                f"the plates of the simulated gait ({WALKER}) need its markers, too: {WALKER} as the source",
                where="--forces",
                allowed=allowed,
            )
        return
    if is_stream(run.forces):
        raise ConfigError(
            f"{run.forces!r} is a stream, but the markers come from a file",
            where="--forces", allowed=allowed,
            remedy="give the file of the forces, or use `rtsim live`",
        )  # fmt: skip
    if not is_file(run.forces):
        raise ConfigError(f"there is no file {run.forces!r}", where="--forces", allowed=allowed)
    if not has_format(run.forces, FORCES):
        raise ConfigError(
            f"{run.forces} is not a file of forces in a known format", where="--forces", allowed=allowed
        )
    if is_stream(run.source):
        raise ConfigError(
            "forces of a file cannot be paired with markers of a stream", where="--forces",
            allowed="tcp://HOST:PORT", remedy="play both with `rtsim replay SOURCE --forces FILE`",
        )  # fmt: skip


def files_of(run: RunConfig) -> list[str]:
    """Return the files that a run may read, the file of forces that OpenSim's external loads name among them,
    and names that are no files, such as `walker`."""
    named = [str(getattr(run, key)) for key in FILE_KEYS]
    if is_stream(run.forces) or Path(run.forces).suffix.lower() != LOADS:
        return named
    from rtsim.files.osim.external_loads import read_external_loads

    return [*named, str(read_external_loads(run.forces).forces)]


def pressed_as_loads_say(run: RunConfig) -> RunConfig:
    """Take the feet of a run from its OpenSim file of external loads, which names the bodies with loads. Runs
    without such a file, with a person's markers, or with feet of their own are returned unchanged.
    """
    if Path(run.forces).suffix.lower() != LOADS or is_stream(run.forces):
        return run
    from rtsim.files.osim.external_loads import read_external_loads
    from rtsim.live.inputs.sources import brings_markers
    from rtsim.models.load import load_model

    loads = read_external_loads(run.forces)
    if not is_file(loads.forces):
        raise ConfigError(
            f"these external loads name the datafile {str(loads.forces)!r}, which does not exist",
            where=run.forces,
            remedy="put that file there, or correct the name",
        )  # fmt: skip
    if run.plates.feet or not brings_markers(run, load_model(run.model)):
        return run
    return msgspec.structs.replace(run, plates=msgspec.structs.replace(run.plates, feet=loads.bodies))


def load_forces(
    source: str, forces: str, trial: MarkerTrial, units: str | None = None, up: str | None = None
) -> ForceTrial | None:
    """Load the force plates that belong to a trial; None if there are none.

    source : source of the markers; its own plates are used if it is a C3D file and `forces` is empty
    forces : path of a file of forces; or the name of the synthetic walker, for its synthetic forces
    units, up : unit of length and upward axis, which replace those stated in the files
    """
    from rtsim.files.forces.c3d_plates import NoPlatesError
    from rtsim.files.forces.forces import read_forces

    if forces == WALKER:
        from rtsim.subjects.made_up.walker_forces import walker_forces

        return walker_forces(trial)
    if forces:
        return read_forces(forces, up=up, units=units, markers=trial)
    if not is_c3d(source):
        return None
    try:
        return read_forces(source, up=up, units=units)
    except NoPlatesError:
        return None


def check_tare(run: RunConfig) -> None:
    """Raise ConfigError for a span of time for taring if forces are a stream."""
    if run.plates.tare and (is_stream(run.source) or is_stream(run.forces)):
        raise ConfigError(
            "--tare takes seconds of a recording, and these forces come from a stream", where="--tare",
            remedy="tare them by `rtsim command tare` while the estimator runs and nobody is on the plates",
        )  # fmt: skip


def tared(forces: ForceTrial | None, span: tuple[float, float] | None) -> ForceTrial | None:
    """Subtract from the plate forces of a recording their mean over a span of time, in which the plates are
    unloaded. Return the forces unchanged if span is None.

    span : first and last time of the span [s]
    """
    from rtsim.files.forces.force_tare import tare

    if span is None:
        return forces
    if forces is None:
        raise ConfigError(
            "there are no force plates to tare", where="--tare", remedy="give --forces, or leave --tare out"
        )
    return tare(forces, *span)


def may_have_forces(run: RunConfig) -> bool:
    """Return whether forces are requested, or the source may contain some."""
    return bool(run.forces) or is_c3d(run.source)


def has_forces(run: RunConfig) -> bool:
    """Return whether forces are requested, or the source contains some and the model has feet to apply them
    to.
    """
    if run.forces or not is_c3d(run.source):
        return bool(run.forces)
    from rtsim.live.subjects.feet import placed_feet
    from rtsim.models.load import load_model

    try:
        placed_feet(run, load_model(run.model))
    except ConfigError:
        return False
    return True


def part_of(forces: ForceTrial, start: float, end: float) -> ForceTrial:
    """Return the force samples from start to end [s], with one sample before and one after; ConfigError if
    there are none.
    """
    first, last = np.searchsorted(forces.times, (start, end))
    rows = slice(max(0, first - 1), last + 1)
    if not len(forces.times[rows]) or start > forces.times[-1] or end < forces.times[0]:
        raise ConfigError(
            f"the forces ({forces.times[0]:g} to {forces.times[-1]:g} s) and the frames of markers "
            f"({start:g} to {end:g} s) have no time in common",
            where=forces.source,
            remedy="give the forces of the same recording and of the same part of the recording",
        )
    return forces._replace(
        **{
            name: getattr(forces, name)[rows]
            for name in ("times", "force", "moment", "centre", "free_moment", "loaded")
        }
    )


def forces_of(run: RunConfig, trial: MarkerTrial) -> ForceTrial | None:
    """Return the forces of the plates of a run over its trial, tared if requested; None without plates."""
    units, up = run.units or None, run.up or None
    loaded = load_forces(run.source, run.forces, trial, units, up) if has_forces(run) else None
    forces = tared(loaded, run.plates.tare)
    return None if forces is None else part_of(forces, float(trial.times[0]), float(trial.times[-1]))


def told_before(run: RunConfig, trial: MarkerTrial, forces: ForceTrial) -> list[str]:
    """Return notes on faults of the plates of a recording, for the user to read before the run."""
    return checked_before(run, trial, forces)[0]


def checked_before(run: RunConfig, trial: MarkerTrial, forces: ForceTrial) -> tuple[list[str], str]:
    """Return notes on faults of the plates of a recording, and the one fault that makes all of them
    unusable; "" if there is none.
    """
    from rtsim.live.subjects.feet import beginning, lines_of_model, placed_feet
    from rtsim.methods.plates.plate_check import UNUSABLE, check_plates
    from rtsim.methods.plates.plate_loads import at_times
    from rtsim.models.load import load_model
    from rtsim.subjects.feet.foot_lines import foot_lines
    from rtsim.subjects.markers.labs import lab_of

    spec, told = load_model(run.model), [*told_outside(trial, forces), *told_bodies(run)]
    if run.plates.borne_by:
        check_borne(run, forces)
        return told, ""
    placed, mass = placed_feet(run, spec), mass_before(run, trial)
    if placed is not None:
        trial = beginning(trial)
        lines, mass = lines_of_model(run, spec, trial, placed), mass_of_model(spec)
    else:
        try:
            lab = lab_of(run.lab, trial.names)
        except ConfigError as fault:
            return [*told, f"it is not checked whether the feet are on the force plates: {fault}"], ""
        lines = foot_lines(trial, lab)
    wrench = at_times(forces, trial.times)
    findings = check_plates(
        forces.names, forces.plates, wrench[..., :3], wrench[..., 3:], trial.times, lines, mass or None,
        forces.origins, pressed_by(run, forces),
    )  # fmt: skip
    wrong = next((finding.sentence for finding in findings if finding.name in UNUSABLE), "")
    return [*told, *(finding.sentence for finding in findings)], wrong


def pressed_by(run: RunConfig, forces: ForceTrial) -> tuple[str, ...]:
    """Return for each force plate the name of the model's body on which it acts, if the forces were read from
    an OpenSim file of external loads, which states it; an empty tuple for other files.
    """
    from rtsim.files.osim.external_loads import read_external_loads

    if Path(run.forces).suffix.lower() != LOADS:
        return ()
    pressed = read_external_loads(run.forces).pressed
    return pressed if len(pressed) == len(forces.names) else ()


def told_bodies(run: RunConfig) -> list[str]:
    """Return notes for the user on a file of external loads (OpenSim) that assigns forces to bodies whose
    names are not those of feet: the foot on each plate is then found from the centre of pressure instead.

    Empty for other files, if all bodies are feet, and if the run tracks the markers that the model file
    itself defines, not those of a person: rtsim/live/subjects/feet.py then reports the feet.
    """
    from rtsim.files.markers.trial import name_some
    from rtsim.files.osim.external_loads import read_external_loads
    from rtsim.live.inputs.sources import brings_markers
    from rtsim.models.load import load_model

    if Path(run.forces).suffix.lower() != LOADS or brings_markers(run, load_model(run.model)):
        return []
    others = [body for body in read_external_loads(run.forces).bodies if not FOOT.search(body)]
    if not others:
        return []
    return [
        f"The forces of the file act on {name_some(others)}, none of which has the name of a foot; the foot "
        "on each plate is found from the centre of pressure instead."
    ]


def check_borne(run: RunConfig, forces: ForceTrial) -> None:
    """Raise ConfigError if a run assigns a body to a plate that the recording does not have."""
    from rtsim.files.markers.trial import name_some

    if absent := [plate for plate in run.plates.borne_by if plate not in forces.names]:
        raise ConfigError(
            f"{forces.source} has no plate {absent[0]!r}", where="plates.borne_by",
            allowed=name_some(list(forces.names)),
        )  # fmt: skip


def told_outside(trial: MarkerTrial, forces: ForceTrial) -> list[str]:
    """Return a note if the forces of a recording do not cover the time span of its markers."""
    from rtsim.files.markers.trial import count_of
    from rtsim.methods.plates.plate_intake import SLACK_S

    first, last = float(forces.times[0]), float(forces.times[-1])
    outside = (trial.times < first - 2.0 * SLACK_S) | (trial.times > last + SLACK_S)
    if not outside.any():
        return []
    return [
        f"The forces are from {first:g} to {last:g} s, the markers from {trial.times[0]:g} to "
        f"{trial.times[-1]:g} s: {count_of(int(outside.sum()), 'frame')} outside the time of the "
        "forces have no forces and moments. Check that both belong to one recording and one clock."
    ]
