"""`rtsim paper`: recomputes figures and tables of a paper and compares the numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from rtsim.papers.catalogue import chosen_items, paper_numbers, publication_of

if TYPE_CHECKING:
    from rtsim.monitor.figures.paper import Paper
    from rtsim.papers.comparison_table import ReproducedItem
    from rtsim.papers.item import ItemInput, PaperItem

FORMATS = ("png", "svg", "pdf")


@click.command("paper")
@click.argument("number", type=click.Choice(paper_numbers()))
@click.option(
    "--figure", "figures", multiple=True, metavar="N", help="Compute only this figure (repeatable)."
)
@click.option("--table", "tables", multiple=True, metavar="N", help="Compute only this table (repeatable).")
@click.option(
    "--list", "listed", is_flag=True, help="List the figures and tables that can be computed, and their data."
)
@click.option(
    "--recording",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Measured data, in place of those that rtsim contains or generates: markers (.mcap, .c3d, .trc), or "
    "for paper 004 joint angles and moments of a lifting movement (.mcap, .mot, .sto, .csv).",
)
@click.option(
    "--static",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Static trial of the person in --recording, if the markers of the movement are not enough to "
    "calibrate the person.",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Folder for the drawings, created if it does not exist; figures need the extra `monitor`.",
)  # fmt: skip
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="png",
    show_default=True,
    help="File format of the drawings.",
)
@click.option("--plot-size", metavar="WxH", help="Size of a page [mm], as 160x100 (default: 271x186).")
@click.option("--plot-dpi", type=int, metavar="N", help="Pixels per inch of .png drawings (default: 150).")
@click.option("--force", is_flag=True, help="Replace drawings that exist already.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    number: str,
    figures: tuple[str, ...],
    tables: tuple[str, ...],
    listed: bool,
    recording: Path | None,
    static: Path | None,
    out: Path | None,
    kind: str,
    plot_size: str | None,
    plot_dpi: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compute figures and tables of paper NUMBER, and compare their numbers with the printed ones.

    The exit code is 1 if a stated bound is missed. If a paper's own data are not public, other data are
    used, and the figure says so.
    """
    from rtsim.cli.terminal.compiling import compile_first
    from rtsim.cli.terminal.console import LastingConsole
    from rtsim.papers.comparison_table import document_of, missed_rows, text_of
    from rtsim.papers.item import ItemInput

    publication = publication_of(number)
    items = chosen_items(number, [*(("figure", n) for n in figures), *(("table", n) for n in tables)])
    if listed:
        click.echo("\n".join(f"{item.name}: {item.title} (from {item.data})" for item in items))
        return
    if static is not None and (recording is None or not static.is_file()):
        raise ConfigError(
            f"{static}: no such file" if recording else "the option applies only together with a recording",
            where="--static",
            remedy=None if recording else "add --recording FILE",
        )
    if recording is not None:
        items = with_recording(items, recording, bool(figures or tables))
    papers = papers_for(items, out, (kind, plot_size, plot_dpi), force)
    compile_first(LastingConsole(stderr=True), dict.fromkeys(k for item in items for k in item.kernels))
    given = ItemInput(recording, static, lambda words: click.echo(words, err=True))
    found = [reproduce(item, given, papers.get(item.name)) for item in items]
    if as_json:
        click.echo(json.dumps(document_of(publication, found), indent=1))
    else:
        click.echo(text_of(publication, found))
    if missed := missed_rows(found):
        raise ConfigError(
            f"{len(missed)} value{'s are' if len(missed) > 1 else ' is'} outside the bound stated for the "
            f"comparison: {'; '.join(missed)}",
            where=f"paper {number}",
        )


def with_recording(items: Sequence[PaperItem], recording: Path, are_named: bool) -> list[PaperItem]:
    """Return those of the figures and tables of a paper that can be computed from the user's recording;
    ConfigError if none can, or if the user has named one that cannot.

    are_named : whether the user has named the figures and tables
    """
    if not recording.is_file():
        raise ConfigError(f"{recording}: no such file", where="--recording")
    rest = [item.name for item in items if not item.takes_recording]
    if rest and (are_named or len(rest) == len(items)):
        raise ConfigError(f"{rest[0]} does not use a recording", where="--recording", remedy="leave it out")
    for name in rest:
        tell(f"{name} is left out, because it does not use a recording")
    return [item for item in items if item.takes_recording]


def papers_for(
    items: Sequence[PaperItem], out: Path | None, look: tuple[str, str | None, int | None], force: bool
) -> dict[str, Paper]:
    """Return for each figure or table of a paper, by name, the file in which it is drawn.

    out : file or folder given by --out
    look : file format, size and resolution from the options
    force : whether files may be replaced

    ConfigError before anything is computed if a drawing cannot be written, or would replace a file.
    """
    from rtsim.cli.terminal.plotting import paper_for
    from rtsim.files.output import check_free

    kind, size, dpi = look
    if out is None:
        for option, value in {"--force": force or None, "--plot-size": size, "--plot-dpi": dpi}.items():
            if value is not None:
                raise ConfigError("the option applies only to drawings", where=option, remedy="add --out DIR")
        return {}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigError(f"the folder {out} cannot be created ({fault.strerror})", where="--out") from None
    papers = {}
    for item in items:
        path = out / f"{item.kind}_{item.number}.{kind}"
        check_free(path, overwrite=force)
        sheet = paper_for(path, size, dpi, "--out")
        assert sheet is not None
        papers[item.name] = sheet
    return papers


def reproduce(item: PaperItem, given: ItemInput, paper: Paper | None) -> ReproducedItem:
    """Compute a figure or table of a paper, draw it if it has an output file, and return the result.

    given : data and functions that its computation needs
    paper : output file, None = it is not drawn
    """
    from rtsim.monitor.figures.stack import save_panels
    from rtsim.papers.comparison_table import ReproducedItem, notes_of

    given.progress(f"{item.name}: {item.title}")
    result, files = item.compute(given), list[Path]()
    if paper is not None and result.is_drawn:
        title, notes = f"{item.name}: {item.title}", notes_of(item, result)
        draw = result.draw
        files = draw(paper, title, notes) if draw else save_panels(paper, title, result.panels, notes)
    return ReproducedItem(item, result, files)
