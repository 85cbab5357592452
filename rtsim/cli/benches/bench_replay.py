"""The benchmark of stored recordings: whether a replay gives the same results."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from rtsim.cli.benches.bench_group import AS_JSON, command
from rtsim.errors import ConfigError
from streams.errors import StreamError


@command.command("replay")
@AS_JSON
@click.argument("folder", type=click.Path(path_type=Path))
def replay(as_json: bool, folder: Path) -> None:
    """Run `rtsim replay --exact` over every recording (.mcap) in FOLDER, for example after a release.

    The exit code is 1 if any result differs. Reported for each recording are whether its results are equal
    and the frames per second, or why it could not be replayed.
    """
    paths = sorted(folder.rglob("*.mcap"))
    if not paths:
        raise ConfigError(
            "the folder contains no recording (.mcap)", where=str(folder), remedy="give another"
        )
    rows = []
    for path in paths:
        row = row_of(path)
        rows.append(row)
        if not as_json:
            click.echo(f"{path}: {row['outcome']}")
    if as_json:
        click.echo(json.dumps({"recordings": rows}))
    raise SystemExit(int(any(row["code"] == 1 for row in rows)))


def row_of(path: Path) -> dict[str, Any]:
    """Replay one recording and return its row of the table: equal or not, and frames per second."""
    from rtsim.cli.runs.exact_replay import computed, verdict
    from rtsim.live.exact.reading import read_run
    from rtsim.live.exact.replay import ROUNDING

    try:
        recorded, began = read_run(path), perf_counter()
        outcome = computed(recorded, ROUNDING)
    except (ConfigError, StreamError) as fault:
        return {"recording": str(path), "outcome": str(fault), "code": 2}
    rate = outcome.n_frame / (perf_counter() - began)
    return {**outcome.row(), "outcome": verdict(outcome), "frames_per_s": round(rate, 1)}
