"""Use of the results of `rtsim analyse` by another command."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from rtsim.cli.commands import analyse


@contextlib.contextmanager
def analysed(markers: Path, model: str, forces: Path, config: str | None) -> Iterator[Path]:
    """Analyse markers with the default options of `rtsim analyse` and yield a temporary recording of the
    results; messages go to standard error.

    forces : file of the force plates
    config : run config, None = the default
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{markers.stem}.mcap"
        words = ["--model", model, "--forces", str(forces), "--out", str(path)]
        words += ["--config", config] if config else []
        with contextlib.redirect_stdout(sys.stderr):
            context = click.get_current_context()
            with analyse.command.make_context("analyse", [str(markers), *words], parent=context) as inner:
                inner.meta[analyse.IN_PASSING] = True
                analyse.command.invoke(inner)
        yield path
