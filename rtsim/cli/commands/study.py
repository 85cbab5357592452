"""`rtsim study`: an analysis, simulation or fit repeated for many values of its parameters."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command("study")
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY.toml")
@click.option("--workers", type=click.IntRange(0, 1024), metavar="N",
              help="Number of processes that solve cases (default: one for each processor); 0 = solve in "
                  "this process.")  # fmt: skip
@click.option("--scheduler", default="", metavar="ADDRESS",
              help="Solve by the workers of this Dask scheduler (extra `study`).")  # fmt: skip
@click.option(
    "--shard",
    default="1/1",
    metavar="K/N",
    help="Solve only every Nth case, beginning with case K: job K of N jobs.",
)
@click.option(
    "--plan",
    "plan_only",
    is_flag=True,
    help="Print the number of cases, the cost and the time left, and solve nothing else.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Folder for the table and the finished cases (default: STUDY.study).")  # fmt: skip
def command(
    study: Path, workers: int | None, scheduler: str, shard: str, plan_only: bool, out: Path | None
) -> None:
    """Solve every case of STUDY.toml: an analysis, simulation or fit for a grid, a list or a random sample
    of parameter values, collected in one table (docs/studies.md).

    Finished cases are kept however the command ends, and repeating the command continues. Results are the
    same for any number of workers and shards. `rtsim report FOLDER` prints sensitivity indices and draws
    figures.
    """
    from rtsim.cli.terminal.options import check_of_use
    from rtsim.studies.threads import one_thread

    one_thread()
    from rtsim.cli.runs.studied import parsed_shard, studied

    check_of_use(
        "--workers",
        not (scheduler and workers is not None),
        "processes on this machine, not to the workers of a scheduler",
    )
    n = (os.cpu_count() or 1) if workers is None else workers
    studied(study, n, scheduler, parsed_shard(shard), plan_only, out)
