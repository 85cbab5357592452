"""`rtsim calibrate`: creates a subject model from a trial, or a mandible from a scan and a trial."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.marker_options import PERSON_OPTION
from rtsim.cli.terminal.measure_options import SPELT, measure_options, measures_given
from rtsim.cli.terminal.options import (
    ANYWAY_OPTION,
    SIDE_OPTION,
    check_of_use,
    file_options,
    run_of_options,
    static_option,
)
from rtsim.cli.terminal.run_notes import ALL_NOTES_OPTION, tell_of_run
from rtsim.cli.terminal.security import connect_options, connect_security
from rtsim.cli.terminal.types import Config, MarkerSource
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.errors import ConfigError
from rtsim.files.output import check_free
from rtsim.live.processes.signals import exit_code
from streams.addresses import is_stream
from streams.capture.system import is_capture

if TYPE_CHECKING:
    from rtsim.config.models.jaw_scan_schema import JawScan
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.files.markers.trial import MarkerTrial
    from rtsim.models.jaw.jaw_scan import RigidMotion
    from rtsim.subjects.calibration.person_measures import AskedMeasures
    from rtsim.subjects.subject import Subject


SECONDS, WITHIN_S = 3.0, 60.0
"""Length of a static trial that is cut from a stream, and time after which a subject who never stood still
is refused [s]."""


@click.command("calibrate")
@click.argument("trial", type=MarkerSource(capture=True))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Subject file (default: TRIAL.subject.toml).",
)
@static_option(
    "Static trial from which the anatomy is calibrated; TRIAL then gives only the mean ligament lengths."
)
@click.option(
    "--lab",
    type=Config("labs"),
    help="Marker map: a .toml file, or the name of one that comes with rtsim (default: the map that fits the "
    "names of the markers).",
)
@SIDE_OPTION
@click.option("--model", type=Config("models"), help="Model of the person (default: lower_limb).")
@measure_options
@click.option(
    "--scan",
    "scan_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Build a mandible model from this .toml file of landmarks, markers and surfaces of a head "
    "(docs/fdk.md).",
)
@PERSON_OPTION
@file_options
@ANYWAY_OPTION
@ALL_NOTES_OPTION
@click.option(
    "--seconds",
    type=float,
    help="For a stream: seconds during which the person has to stand still with "
    "all markers visible (default: 3).",
)
@click.option(
    "--within",
    "within_s",
    type=float,
    help="For a stream: seconds after which the wait for the person to stand still ends (default: 60).",
)
@connect_options
@click.option("--force", is_flag=True, help="Replace a subject file that exists already.")
def command(
    trial: str, out: Path | None, static: str | None, lab: str | None, side: str | None, model: str | None,
    scan_path: Path | None, person: str | None, units: str | None, up: str | None, anyway: bool,
    seconds: float | None, within_s: float | None, client_key: str | None, server_key: str | None,
    force: bool, measures: str | None, all_notes: bool, **given: Any,
) -> None:  # fmt: skip
    """Build a subject model from TRIAL: a static trial, or a movement with all anatomical markers on.

    TRIAL may be a live stream (tcp://HOST:PORT) or a capture system (qtm://HOST, ...): then the first
    seconds in which the person stands still with all markers visible become the static trial.
    """
    live = is_stream(trial) or is_capture(trial)
    of_streams = {"seconds": seconds, "within": within_s, "client-key": client_key, "server-key": server_key}
    for option, value in of_streams.items():
        check_of_use(f"--{option}", live or value is None, "streams")
    if live:
        of_files = {"static": static, "units": units, "up": up, "scan": scan_path, "anyway": anyway or None}
        for option, unused in of_files.items():
            check_of_use(f"--{option}", unused is None, "files")
    if scan_path is not None:
        of_persons = {"static": static, "lab": lab, "side": side, "model": model, "measures": measures,
                      "anyway": anyway or None}  # fmt: skip
        of_persons |= {SPELT[name].removeprefix("--"): x for name, x in given.items()}
        for option, value in of_persons.items():
            check_of_use(
                f"--{option}",
                value is None,
                "the calibration of a person, but with --scan the model of a mandible is built",
            )
        file = Path(trial)
        path = out or file.with_suffix(".mandible.toml")
        calibrate_mandible(file, scan_path, path, person or "", units, up, force)
        return
    from rtsim.subjects.calibration.person_measures import AskedMeasures, all_measures
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.markers.persons import read_one, share_of_labs
    from rtsim.subjects.subject import save_subject

    path = subject_path(trial, out, live, force)
    asked = AskedMeasures(measures or "", measures_given(given, PersonMeasures()))
    marker_map, side = load_lab(lab) if lab else None, side or ""
    if live:
        from rtsim.cli.runs.standing_stream import StandingRequest, standing_trial

        request = StandingRequest(
            source=trial,
            seconds=SECONDS if seconds is None else seconds,
            within_s=WITHIN_S if within_s is None else within_s,
            lab=marker_map,
            side=side,
            person=person or "",
            stored=all_measures(asked)[1],
        )
        moving = standing_trial(request, connect_security(client_key, server_key))
    else:
        moving = read_one(trial, share_of_labs(marker_map, side), person or "", up, units, strict=True)
    subject = subject_of(moving, asked, static, lab, side, units, up, anyway=anyway)
    if live:
        subject = msgspec.structs.replace(subject, name=path.stem)
    else:
        subject = with_ligaments(subject, Path(trial), model or "lower_limb", moving.person, units, up)
    save_subject(path, subject)
    tell_of_run([f"{trial}: {note}" for note in (*moving.notes, *subject.notes)])
    tell(f"side: {subject.side}")
    for name, segment in subject.segments.items():
        tell(f"{name:8s} {segment.length_mm:7.1f} mm  {len(segment.markers_mm)} markers")
    click.echo(f"wrote {path}", err=True)
    if live and exit_code() is not None:
        raise SystemExit(exit_code())


def subject_path(trial: str, out: Path | None, live: bool, force: bool) -> Path:
    """Return the path of the file to write; ConfigError for an invalid name, or for a file that exists."""
    if live and out is None:
        raise ConfigError(
            "the name of the subject file cannot be derived from a stream",
            where="--out",
            remedy="add --out NAME.toml",
        )
    path = out or Path(trial).with_suffix(".subject.toml")
    if path.suffix != ".toml":
        raise ConfigError(
            f"{path} cannot be the name of a subject file", where="--out", allowed="a name that ends in .toml"
        )
    check_free(path, overwrite=force)
    return path


def subject_of(
    moving: MarkerTrial, asked: AskedMeasures, static: str | None, lab: str | None, side: str,
    units: str | None, up: str | None, *, anyway: bool,
) -> Subject:  # fmt: skip
    """Calibrate a subject model from a trial; its notes state how well that trial fits the static trial.

    moving : the trial; if `static` is None, the person is calibrated from it alone
    asked : measures of the person that the options give
    static : file of the static trial
    lab, side : marker map ("" or None = found by the marker names), leg or legs
    up, units : vertical axis and unit of length, if the files do not state them
    anyway : whether to accept a trial that does not fit the static one
    """
    from rtsim.files.markers.markers import read_markers
    from rtsim.live.subjects.subject_check import notes_on_fit
    from rtsim.models.tracked import tracked_person
    from rtsim.subjects.calibration.calibration import subject_for
    from rtsim.subjects.markers.persons import check_one_person

    if static is not None and moving.person:
        check_one_person(moving, read_markers(static, units=units, up=up), anyway=anyway)
    subject = subject_for(
        moving, static, lab=lab, side=side, units=units, up=up, person=moving.person, measures=asked
    )
    who = tracked_person(subject)
    fit = notes_on_fit(who, moving, moving.source, anyway=anyway) if static is not None else []
    return msgspec.structs.replace(subject, notes=(*subject.notes, *fit))


def with_ligaments(
    subject: Subject, trial: Path, model: str, person: str, units: str | None, up: str | None
) -> Subject:
    """Return the subject with the mean lengths of the knee ligaments over the trial added, if the knee moves
    in it.

    model : knee model whose ligaments these are
    up, units : vertical axis and unit of length, if the trial does not state them
    """
    from rtsim.methods.kinematics.mean_lengths import with_mean_lengths
    from rtsim.models.load import load_model, model_for

    run = run_of_options(name="calibrate", units=units or "", up=up or "", person=person)
    return with_mean_lengths(load_model(model_for(model, subject.side)), subject, trial, run)


def calibrate_mandible(
    trial: Path, scan_path: Path, path: Path, person: str, units: str | None, up: str | None, force: bool
) -> None:
    """Write a mandible model: the shipped mandible with the frame, the markers and the surfaces from a scan
    and a trial.
    """
    from rtsim.config.load import load_toml
    from rtsim.config.models.jaw_scan_schema import JawScan
    from rtsim.files.model_toml import model_text
    from rtsim.files.output import write_text
    from rtsim.models.jaw.jaw_scan import frame_of, model_of, registered
    from rtsim.models.jaw.jaw_scan_muscles import with_muscles
    from rtsim.models.load import load_model
    from rtsim.subjects.markers.persons import read_one, share_of

    check_names(path, scan_path)
    check_free(path, overwrite=force)
    scan, spec = load_toml(scan_path, JawScan), load_model("mandible")
    frame = frame_of(scan, str(scan_path))
    names = tuple(marker.name for marker in spec.markers)
    measured = read_one(trial, share_of(names), person, up, units, strict=True)
    found = registered(scan, frame, measured, names, str(scan_path))
    spec = model_of(spec, scan, frame, found.places)
    spec, moved = with_muscles(spec, scan, frame, scan_path)
    spec, notes = on_surfaces(spec, scan, frame, scan_path, path, force)
    notes += moved
    kept = "" if len(moved) == len(spec.muscles) else "other muscles, " if moved else "muscles, "
    notes.append(
        f"{kept}the ligaments, masses and slopes of the articular planes are those of the model mandible "
        "that comes with rtsim"
    )
    notes += [
        f"marker {name}: {mm:.2f} mm RMS between its position in the trial and in the scan"
        for name, mm in found.residual_mm.items()
    ]
    notes.append(
        f"the positions of the markers are means over {found.n_frame} frames of {trial.name}, in which the "
        "teeth are assumed to be together"
    )
    write_text(
        path,
        model_text(
            spec, "\n".join(["mandible built from a scan", scan.source or str(scan_path.name), *notes])
        ),
    )
    for note in (*measured.notes, *notes):
        tell(f"{trial}: {note}")
    click.echo(f"wrote {path}", err=True)


def on_surfaces(
    spec: ModelSpec, scan: JawScan, frame: RigidMotion, scan_path: Path, path: Path, force: bool
) -> tuple[ModelSpec, list[str]]:
    """Return the mandible model with the condyle and fossa surfaces of a scan, and notes for the user; the
    surfaces are written to the folder of the model.

    spec, path : the model, and the file to which it will be written
    frame : position of the model's frame in the scan
    force : whether files may be replaced
    """
    from rtsim.files.output import write_text
    from rtsim.files.surfaces.surfaces import obj_text
    from rtsim.models.jaw.jaw_scan import surfaces_of
    from rtsim.models.jaw.jaw_surfaces import pressing

    surfaces, notes = surfaces_of(scan, frame, scan_path)
    files = {name: path.with_name(f"{path.stem}.{name}.obj") for name in surfaces}
    check_outputs([path, *files.values()], scan_path, scan, force)
    for name, surface in surfaces.items():
        write_text(files[name], obj_text(surface))
    if files:
        sides = {s: (files[f"{s}_condyle"], files[f"{s}_fossa"]) for s in ("right", "left")}
        # the other way forces leap from one triangle of a condyle to the next (docs/fdk.md)
        spec = pressing(spec, sides, scan.grown_mm)
        notes.append(
            "contacts: right and left, with the pressure taken at the vertices of the fossae; name "
            "them in [fdk.joints.NAME] of the run config"
        )
    else:
        notes.append(
            "the scan has no surfaces: the ellipsoids and troughs of the model mandible are used, moved to "
            "the condyles of the scan"
        )
    return spec, notes


def check_names(path: Path, scan_path: Path) -> None:
    """Raise ConfigError for an impossible name of the model or of the scan."""
    if path.suffix != ".toml":
        raise ConfigError(
            f"{path} cannot be the name of a model file", where="--out", allowed="a name that ends in .toml"
        )
    if scan_path.suffix != ".toml":
        raise ConfigError(
            f"{scan_path} cannot be the file of a scan", where="--scan",
            allowed="a .toml file with tables [landmarks] and [markers] (docs/fdk.md)",
            remedy="copy points from other files into this file as NAME = [x, y, z]",
        )  # fmt: skip


def check_outputs(paths: list[Path], scan_path: Path, scan: JawScan, force: bool) -> None:
    """Raise ConfigError if a file of the model cannot be written, or would replace a file from which the
    model is made.
    """
    inputs = {
        os.path.realpath(file)
        for file in (scan_path, *(scan_path.parent / each for each in scan.surfaces.values()))
    }
    for path in paths:
        if os.path.realpath(path) in inputs:
            raise ConfigError(
                "the model would replace a file from which it is made",
                where=str(path),
                remedy="give another --out",
            )
        check_free(path, overwrite=force)
