"""`rtsim report FOLDER` for a study: sensitivity indices as text, and figures beside the table of the results
of all cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rtsim.cli.terminal.lines import tell
from rtsim.errors import ConfigError
from rtsim.studies.summary import summary_of

FIGURES = ("tornado.png", "heat.png", "bands.png")


def report_study(folder: Path, outputs: Sequence[Path], others: bool) -> None:
    """Print the parameters on which the results of a study depend, and draw figures of it into a folder, by
    default the study's own.

    others : whether options are given that belong to reports on persons
    """
    if others:
        raise ConfigError(
            "a study cannot be reported together with trials", where=str(folder), allowed="--out FOLDER",
            remedy="leave out everything else",
        )  # fmt: skip
    if len(outputs) > 1 or any(path.suffix for path in outputs):
        raise ConfigError(
            "the figures of a study are several files, which need a folder",
            where="--out",
            allowed="one folder",
            remedy="name a folder",
        )
    shown = summary_of(folder)
    click.echo("\n".join(shown.words))
    into = outputs[0] if outputs else folder
    if not into.is_dir():
        if not into.absolute().parent.is_dir():
            raise ConfigError(f"there is no folder {into.parent}", where="--out", remedy="make it first")
        into.mkdir()
    try:
        from rtsim.monitor.qt_library import require_qt

        require_qt()
    except ConfigError as error:
        tell(f"no figures: {error}")
        return
    from rtsim.monitor.figures.paper import paper_of
    from rtsim.monitor.figures.study_figures import save_bands, save_heat, save_tornado

    bars = any(panel.bars for panel in shown.tornados)
    saved = zip(FIGURES, (bars, shown.heats, shown.bands), (save_tornado, save_heat, save_bands), strict=True)
    for name, there, save in saved:
        if there:
            save(paper_of(into / name, None, None, "--out"), shown)
            click.echo(f"wrote {into / name}", err=True)
