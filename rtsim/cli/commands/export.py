"""`rtsim export`: converts a recording to a file for other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import COLUMNS, USUAL_FRAMES, check_of_use, file_options, table_options
from rtsim.cli.terminal.plotting import CURVES_OPTION, draw_results
from rtsim.errors import ConfigError

FORMATS = ("trc", "mot", "sto", "csv")
C3D = ".c3d"
TABLES = (".mot", ".sto", ".csv")
VIEWS = ("sagittal", "frontal", "transverse", "3-d")
STDOUT = "-"
N_PICTURE = 6
"""Number of instants in a picture of the stick figure if the user names none."""


@click.command("export")
@click.argument("recording", type=click.Path(path_type=Path))
@click.argument("out", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Format (default: chosen by the suffix of OUT)."
)
@click.option(
    "--model-markers",
    is_flag=True,
    help=".trc: write the markers of the model instead of the measured markers.",
)
@table_options
@click.option(
    "--at", "instants", multiple=True, type=float, metavar="S",
    help=f"Figures: an instant to draw [s], repeatable (default: {N_PICTURE} instants spread over the "
        "recording).",
)  # fmt: skip
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    help="Figures: anatomical plane in which the person is drawn (default: sagittal).",
)
@click.option("--names", is_flag=True, help="Figures: also write the names of the joints.")
@CURVES_OPTION
@click.option(
    "--into", type=click.Path(path_type=Path), metavar="C3D",
    help=".c3d: the recording to which the results are added (default: the recording that was solved).",
)  # fmt: skip
@click.option(
    "--anonymous", is_flag=True,
    help=".mcap: write a copy of the recording without the names of persons, files and places, without "
        "notes and date.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that exists already.")
@file_options
def command(
    recording: Path,
    out: Path | None,
    form: str | None,
    model_markers: bool,
    frames: str,
    columns: str,
    instants: tuple[float, ...],
    view: str | None,
    names: bool,
    curves: str,
    into: Path | None,
    anonymous: bool,
    force: bool,
    units: str | None,
    up: str | None,
) -> None:
    """Write the content of RECORDING (.mcap) to the file OUT, whose suffix selects content and format.

    .trc: markers; .mot: motion, moments and powers; .sto, .csv: all results; .c3d: the whole C3D file that
    was solved, with the results appended; .foxglove.mcap: a file for Foxglove; .mcap with --anonymous: a copy
    without names; .png, .svg, .pdf: a picture of the stick figure at some instants, side by side, or of the
    curves that --curves names. OUT may be - for standard output, with --format.
    """
    from rtsim.files.output import check_free
    from rtsim.files.tables.export import EXPORT_SUFFIXES, FOXGLOVE, PICTURES

    suffix = f".{form}" if form else ""
    if out is None:
        raise ConfigError(
            f"the name of an output file is missing for {recording}" + (
                "" if recording.suffix.lower() == ".mcap" else ", and the file is not a recording (.mcap)"
            ), where="OUT",
            allowed=f"a file ({', '.join((*EXPORT_SUFFIXES, C3D, FOXGLOVE, *PICTURES))}), or - with --format",
            remedy="give a name that differs from the recording",
        )  # fmt: skip
    usual = {"--frames": frames == USUAL_FRAMES, "--columns": columns == COLUMNS[0]}
    check_options(suffix or out.suffix.lower(), model_markers, usual, units, up)
    is_copy = not suffix and out.suffix.lower() == ".mcap"
    check_of_use(
        "--anonymous",
        not anonymous or is_copy,
        "copies of a recording (.mcap), which can then be exported to another format",
    )
    check_of_use("--into", into is None or (not suffix and out.suffix.lower() == C3D), "C3D files (.c3d)")
    of_poses = {"--at": instants, "--view": view, "--names": names}
    if not suffix and out.suffix.lower() in PICTURES:
        check_free(out, overwrite=force)
        if curves:
            for option, given in of_poses.items():
                check_of_use(option, not given, "pictures of the stick figure, not to curves (--curves)")
            draw_curves(recording, out, curves)
        else:
            draw(recording, out, instants, view or VIEWS[0], names)
        return
    for option, given in {**of_poses, "--curves": curves}.items():
        check_of_use(option, not given, "figures (.png, .svg, .pdf)")
    if not suffix and out.suffix.lower() == C3D:
        from rtsim.cli.c3d_results import export_beside

        check_free(out, overwrite=force)
        export_beside(recording, out, into, up, units)
        return
    if is_copy:
        (to_anonymous if anonymous else to_foxglove)(recording, out, force)
        return
    options = {"model_markers": model_markers, "units": units, "up": up, "frames": frames, "columns": columns}
    to_text(recording, out, suffix, force, options)


def to_text(recording: Path, out: Path, suffix: str, force: bool, options: dict[str, Any]) -> None:
    """Write markers or a table of a recording to a file or to standard output.

    suffix : suffix of the format
    force : whether the file may be replaced
    options : settings of the command line for the contents: frames, columns, model markers, units, up axis
    """
    from rtsim.files.output import check_free
    from rtsim.files.tables.export import export, exported

    if str(out) == STDOUT:
        if not suffix:
            raise ConfigError(
                "the format is unknown, because standard output has no file suffix",
                where="OUT -",
                allowed=", ".join(f"--format {name}" for name in FORMATS),
                remedy="add --format; pictures can only be written into files",
            )
        text, notes = exported(recording, suffix, recording.stem, **options)
        sys.stdout.buffer.writelines(part.encode("utf-8") for part in text)
        sys.stdout.buffer.flush()
    else:
        check_free(out, overwrite=force)
        notes = export(recording, out, suffix=suffix, **options)
    for note in notes:
        tell(note)
    if str(out) != STDOUT:
        click.echo(f"wrote {out}", err=True)


def to_foxglove(recording: Path, out: Path, force: bool) -> None:
    """Write a recording as a file `out` that Foxglove opens. ConfigError if `out` does not end in .mcap or is
    the recording itself, or if it exists and `force` (replace it) is false.
    """
    from rtsim.bridges.foxglove_file import export_foxglove
    from rtsim.files.tables.export import FOXGLOVE

    if not out.name.lower().endswith(FOXGLOVE):
        raise ConfigError(
            f"{out.name} cannot be written: a recording becomes an .mcap file only for Foxglove",
            where="OUT", allowed=f"names in {FOXGLOVE}",
            remedy=f"give {out.stem}{FOXGLOVE} for Foxglove, or --anonymous for a copy without names",
        )  # fmt: skip
    check_other(recording, out, force)
    for note in export_foxglove(recording, out):
        tell(note)
    click.echo(f"wrote {out}", err=True)


def to_anonymous(recording: Path, out: Path, force: bool) -> None:
    """Write a copy of the recording without names; report what was removed, and what only the user can
    judge.
    """
    from rtsim.files.anonymous import write_anonymous

    check_other(recording, out, force)
    copy = write_anonymous(recording, out)
    for what, n in copy.n_text.items():
        tell(f"{n} {what}")
    if copy.prefixes:
        tell(
            "names before the colon in marker labels were replaced by person_1 and so on: "
            f"{', '.join(copy.prefixes)}"
        )
    if copy.n_bad:
        tell(f"messages left out because they could not be decoded: {copy.n_bad}")
    if copy.note:
        tell(copy.note)
    tell(
        "kept: motion, forces, body size and mass, other labels of markers and plates, times since "
        "the start; a person might be recognised by the motion itself (docs/privacy.md)"
    )
    click.echo(f"wrote {out}", err=True)


def check_other(recording: Path, out: Path, force: bool) -> None:
    """Raise ConfigError if OUT may not be written, or is the recording itself."""
    from rtsim.files.output import check_free

    check_free(out, overwrite=force)
    if out.exists() and recording.exists() and out.samefile(recording):
        raise ConfigError(f"{out} is the recording itself", where="OUT", remedy="choose another name")


def draw(recording: Path, out: Path, instants: tuple[float, ...], view: str, names: bool) -> None:
    """Draw the stick figure of a recording at some instants [s] into the file OUT.

    view : name of the direction of view
    names : whether the names of joints are written
    """
    import numpy as np

    from rtsim.files.recording import read_results
    from rtsim.files.tables.legs import SIDES
    from rtsim.monitor.figures.paper import paper_of
    from rtsim.monitor.figures.sticks import save_sticks

    paper = paper_of(out, None, None, "OUT")
    results = read_results(recording)
    first, last = float(results.times[0]), float(results.times[-1])
    for t in instants:
        if not first <= t <= last:
            raise ConfigError(
                f"{t:g} s is out of range", where="--at", allowed=f"{first:g} to {last:g} s of {recording}"
            )
    chosen = instants or np.linspace(first, last, min(N_PICTURE, len(results.times))).tolist()
    meta = results.session.meta
    leg = f"{meta['side']} leg" if meta.get("side") in SIDES else ""
    title = f"{recording.name}: {', '.join(filter(None, (meta.get('model'), leg, view)))}"
    save_sticks(paper, title, results, chosen, view.capitalize() if view != VIEWS[-1] else "3-D", names)
    for note in results.notes:
        tell(note)
    click.echo(f"wrote {out}", err=True)


def draw_curves(recording: Path, out: Path, curves: str) -> None:
    """Draw curves of a recording as a figure into the file OUT; curves : their names, as given by
    --curves.
    """
    from rtsim.files.recording import read_results
    from rtsim.monitor.figures.paper import paper_of

    results = read_results(recording)
    draw_results(paper_of(out, None, None, "OUT"), results, recording.name, curves)
    for note in results.notes:
        tell(note)


def check_options(
    suffix: str, model_markers: bool, usual: Mapping[str, bool], units: str | None, up: str | None
) -> None:
    """Raise ConfigError for an option without effect on a file of this suffix.

    model_markers, units, up : values of these options
    usual : option that applies only to tables -> whether it has its default value, and so has no effect
    """
    if suffix not in TABLES:
        for option, fits in usual.items():
            check_of_use(option, fits, f"tables ({', '.join(TABLES)})")
    if suffix in (".trc", C3D):
        check_of_use("--model-markers", suffix == ".trc" or not model_markers, "markers (.trc)")
        return
    for option, given in (("--model-markers", model_markers), ("--units", units), ("--up", up)):
        check_of_use(option, not given, "markers (.trc)")
