"""`rtsim export`: a recording as a file other programs read."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtsim.cli.lines import tell
from rtsim.cli.options import USUAL_FRAMES, check_of_use, file_options, frames_option
from rtsim.errors import ConfigError

FORMATS = ("trc", "mot", "sto", "csv")
STDOUT = "-"


@click.command("export")
@click.argument("recording", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "form", type=click.Choice(FORMATS), help="Format (default: by the suffix of OUT).")
@click.option("--model-markers", is_flag=True, help=".trc: the model's markers instead of the measured ones.")
@frames_option
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@file_options
def command(
    recording: Path,
    out: Path,
    form: str | None,
    model_markers: bool,
    frames: str,
    force: bool,
    units: str | None,
    up: str | None,
) -> None:
    """Write RECORDING (.mcap) as OUT: .trc markers, .mot or .sto joint angles, .csv everything.

    OUT may be -, the standard output, with --format.
    """
    from rtsim.files.export import export, exported
    from rtsim.files.output import check_free

    suffix = f".{form}" if form else ""
    check_options(suffix or out.suffix.lower(), model_markers, frames, units, up)
    if str(out) == STDOUT:
        if not suffix:
            raise ConfigError(
                "standard output has no suffix that names the format",
                where="OUT -",
                allowed=", ".join(f"--format {name}" for name in FORMATS),
            )
        text, notes = exported(
            recording, suffix, recording.stem, model_markers=model_markers, units=units, up=up, frames=frames
        )
        sys.stdout.buffer.writelines(part.encode("utf-8") for part in text)
        sys.stdout.buffer.flush()
    else:
        check_free(out, overwrite=force)
        notes = export(
            recording, out, suffix=suffix, model_markers=model_markers, units=units, up=up, frames=frames
        )
    for note in notes:
        tell(note)
    if str(out) != STDOUT:
        click.echo(f"wrote {out}", err=True)


def check_options(suffix: str, model_markers: bool, frames: str, units: str | None, up: str | None) -> None:
    """ConfigError for an option that would do nothing in a file of this suffix."""
    if suffix == ".trc":
        check_of_use("--frames", frames == USUAL_FRAMES, "tables (.mot, .sto, .csv)")
        return
    for option, given in (("--model-markers", model_markers), ("--units", units), ("--up", up)):
        check_of_use(option, not given, "markers (.trc)")
