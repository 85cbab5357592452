"""`rtsim calibrate`: a subject model from a trial; a mandible from a scan and a trial."""

from __future__ import annotations

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
    static_option,
)
from rtsim.cli.terminal.types import Config
from rtsim.config.runs.measures_schema import PersonMeasures
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.output import check_free

if TYPE_CHECKING:
    from rtsim.config.models.jaw_scan_schema import JawScan
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.models.jaw.jaw_scan import RigidMotion


@click.command("calibrate")
@click.argument("trial", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Subject file (default: TRIAL.subject.toml).",
)
@static_option("Static trial for the anatomy; TRIAL then gives gait means.")
@click.option(
    "--lab",
    type=Config("labs"),
    help="Marker map: a .toml file or a shipped name (default: found by the names).",
)
@SIDE_OPTION
@click.option("--model", type=Config("models"), help="Of persons (default: lower_limb).")
@measure_options
@click.option(
    "--scan",
    "scan_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Landmarks, markers and surfaces of a head: a .toml file; builds a mandible (docs/fdk.md).",
)
@PERSON_OPTION
@file_options
@ANYWAY_OPTION
@click.option("--force", is_flag=True, help="Replace a subject file that exists already.")
def command(
    trial: Path,
    out: Path | None,
    static: str | None,
    lab: str | None,
    side: str | None,
    model: str | None,
    scan_path: Path | None,
    person: str | None,
    units: str | None,
    up: str | None,
    anyway: bool,
    force: bool,
    measures: str | None,
    **given: Any,
) -> None:
    """Build a subject model from TRIAL: a static trial, or a movement with all anatomical markers on."""
    if scan_path is not None:
        of_persons = {"static": static, "lab": lab, "side": side, "model": model, "measures": measures,
                      "anyway": anyway or None}  # fmt: skip
        of_persons |= {SPELT[name].removeprefix("--"): x for name, x in given.items()}
        for option, value in of_persons.items():
            check_of_use(f"--{option}", value is None, "persons; a mandible is built by --scan")
        calibrate_mandible(
            trial, scan_path, out or trial.with_suffix(".mandible.toml"), person or "", units, up, force
        )
        return
    from rtsim.live.subjects.subject_check import notes_on_fit
    from rtsim.methods.kinematics.mean_lengths import with_mean_lengths
    from rtsim.models.load import load_model, model_for
    from rtsim.subjects.calibration.calibration import subject_for
    from rtsim.subjects.calibration.person_measures import AskedMeasures
    from rtsim.subjects.markers.labs import load_lab
    from rtsim.subjects.markers.persons import read_one, share_of_labs
    from rtsim.subjects.subject import save_subject

    path = out or trial.with_suffix(".subject.toml")
    if path.suffix != ".toml":
        raise ConfigError(f"{path} cannot be a subject", where="--out", allowed="a name that ends in .toml")
    check_free(path, overwrite=force)
    share = share_of_labs(load_lab(lab) if lab else None, side or "")
    moving = read_one(trial, share, person or "", up, units, strict=True)
    subject = subject_for(
        moving, static, lab=lab, side=side or "", units=units, up=up, person=moving.person,
        measures=AskedMeasures(measures or "", measures_given(given, PersonMeasures())),
    )  # fmt: skip
    fit = notes_on_fit(subject, moving, str(trial), anyway=anyway) if static is not None else []
    subject = msgspec.structs.replace(subject, notes=(*subject.notes, *fit))
    run = RunConfig(name="calibrate", units=units or "", up=up or "", person=moving.person)
    subject = with_mean_lengths(
        load_model(model_for(model or "lower_limb", subject.side)), subject, trial, run
    )
    save_subject(path, subject)
    for note in (*moving.notes, *subject.notes):
        tell(f"{trial}: {note}")
    tell(f"side: {subject.side}")
    for name, segment in subject.segments.items():
        tell(f"{name:8s} {segment.length_mm:7.1f} mm  {len(segment.markers_mm)} markers")
    click.echo(f"wrote {path}", err=True)


def calibrate_mandible(
    trial: Path, scan_path: Path, path: Path, person: str, units: str | None, up: str | None, force: bool
) -> None:
    """Write the shipped mandible with the frame, the markers and the surfaces of a scan and a trial."""
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
    notes.append(f"{kept}ligaments, masses and slopes of the planes: those of the shipped mandible")
    notes += [f"{name}: {mm:.2f} mm RMS from its place in the scan" for name, mm in found.residual_mm.items()]
    notes.append(f"markers placed in {found.n_frame} frames of {trial.name}, teeth together")
    write_text(
        path, model_text(spec, "\n".join(["mandible of a scan", scan.source or str(scan_path.name), *notes]))
    )
    for note in (*measured.notes, *notes):
        tell(f"{trial}: {note}")
    click.echo(f"wrote {path}", err=True)


def on_surfaces(
    spec: ModelSpec, scan: JawScan, frame: RigidMotion, scan_path: Path, path: Path, force: bool
) -> tuple[ModelSpec, list[str]]:
    """The mandible on the scan's surfaces, which are written beside its path, and sentences."""
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
            "contacts: right and left, of which the fossae's vertices press; name them in [fdk.joints.NAME] "
            "of the run"
        )
    else:
        notes.append("no surfaces: the shipped ellipsoids and troughs, moved to the scan's condyles")
    return spec, notes


def check_names(path: Path, scan_path: Path) -> None:
    """ConfigError for a model or a scan that is called as none can be."""
    if path.suffix != ".toml":
        raise ConfigError(f"{path} cannot be a model", where="--out", allowed="a name that ends in .toml")
    if scan_path.suffix != ".toml":
        raise ConfigError(
            f"{scan_path} cannot be a scan", where="--scan",
            allowed="a .toml file with tables [landmarks] and [markers] (docs/fdk.md)",
            remedy="copy points of other files into it as NAME = [x, y, z]",
        )  # fmt: skip


def check_outputs(paths: list[Path], scan_path: Path, scan: JawScan, force: bool) -> None:
    """ConfigError where a file of the model cannot be written, or would replace what the model is made of."""
    inputs = {scan_path.resolve(), *((scan_path.parent / file).resolve() for file in scan.surfaces.values())}
    for path in paths:
        if path.resolve() in inputs:
            raise ConfigError(
                "the model would replace what it is made of", where=str(path), remedy="give another --out"
            )
        check_free(path, overwrite=force)
