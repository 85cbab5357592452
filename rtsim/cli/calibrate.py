"""`rtsim calibrate`: a subject model from a trial."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from rtsim.cli.lines import tell
from rtsim.cli.options import ANYWAY_OPTION, SIDE_OPTION, file_options
from rtsim.cli.types import Config
from rtsim.config.run_schema import Run
from rtsim.errors import ConfigError
from rtsim.files.output import check_free


@click.command("calibrate")
@click.argument("trial", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Subject file (default: TRIAL.subject.toml).",
)
@click.option(
    "--static",
    type=click.Path(path_type=Path),
    help="Static trial for the anatomy; TRIAL then gives gait means.",
)
@click.option(
    "--lab",
    type=Config("labs"),
    help="Marker map: a .toml file or a shipped name (default: found by the names).",
)
@SIDE_OPTION
@click.option("--model", type=Config("models"), default="lower_limb", show_default=True)
@click.option(
    "--hip", "hip_regression", default="harrington2007", show_default=True, help="Hip centre regression."
)
@file_options
@ANYWAY_OPTION
@click.option("--force", is_flag=True, help="Replace a subject file that exists already.")
def command(
    trial: Path,
    out: Path | None,
    static: Path | None,
    lab: str | None,
    side: str | None,
    model: str,
    hip_regression: str,
    units: str | None,
    up: str | None,
    anyway: bool,
    force: bool,
) -> None:
    """Build a subject model from TRIAL: a static trial, or a movement with all anatomical markers on."""
    from rtsim.files.markers import read_markers
    from rtsim.live.whose import notes_on_fit
    from rtsim.methods.mean_lengths import with_mean_lengths
    from rtsim.models.load import load_model, model_for
    from rtsim.subjects.calibration import subject_for
    from rtsim.subjects.subject import save_subject

    path = out or trial.with_suffix(".subject.toml")
    if path.suffix != ".toml":
        raise ConfigError(f"{path} cannot be a subject", where="--out", allowed="a name that ends in .toml")
    check_free(path, overwrite=force)
    moving = read_markers(trial, up=up, units=units)
    subject = subject_for(
        moving, static, lab=lab, side=side or "", hip_regression=hip_regression, units=units, up=up
    )
    fit = notes_on_fit(subject, moving, str(trial), anyway=anyway) if static is not None else []
    subject = msgspec.structs.replace(subject, notes=(*subject.notes, *fit))
    run = Run(name="calibrate", units=units or "", up=up or "")
    subject = with_mean_lengths(load_model(model_for(model, subject.side)), subject, trial, run)
    save_subject(path, subject)
    for note in (*moving.notes, *subject.notes):
        tell(f"{trial}: {note}")
    tell(f"side: {subject.side}")
    for name, segment in subject.segments.items():
        tell(f"{name:8s} {segment.length_mm:7.1f} mm  {len(segment.markers_mm)} markers")
    click.echo(f"wrote {path}", err=True)
