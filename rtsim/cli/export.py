"""`rtsim export`: a recording as a file other programs read."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("export")
@click.argument("recording", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--model-markers", is_flag=True, help=".trc: the model's markers instead of the measured ones.")
def command(recording: Path, out: Path, model_markers: bool) -> None:
    """Write RECORDING (.mcap) as OUT: .trc markers, .mot or .sto joint angles, .csv everything."""
    from rtsim.files.export import export

    for note in export(recording, out, model_markers=model_markers):
        click.echo(note, err=True)
    click.echo(f"wrote {out}", err=True)
