"""Benches of studies."""

from __future__ import annotations

import click

from rtsim.cli.benches.bench_group import AS_JSON, command


@command.command("study")
@AS_JSON
def study(as_json: bool) -> None:
    """`rtsim study`: 256 weights of ligaments over one gait cycle, on one process and on two."""
    from rtsim.bench import figures
    from rtsim.bench.runs import study
    from rtsim.studies.threads import one_thread

    one_thread()
    click.echo(figures.report("study", study.run(), as_json))
