"""The benchmark that feeds damaged input to the readers of files and the decoders of messages."""

from __future__ import annotations

from pathlib import Path

import click

from rtsim.cli.benches.bench_group import AS_JSON, command, need_checkout
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.options import check_of_use
from rtsim.cli.terminal.types import NumberWithin


@command.command("fuzz")
@AS_JSON
@click.option("--minutes", type=NumberWithin(0.0), default=10.0, show_default=True,
              help="Total time for all fuzz targets.")  # fmt: skip
@click.option("--only", multiple=True, metavar="TARGET", help="Run only this fuzz target (repeatable).")
@click.option("--corpus", type=click.Path(file_okay=False, path_type=Path), default=None,
              help="Folder of test inputs and findings (default: build/fuzz in the checkout).")  # fmt: skip
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    help="Seed of the random inputs (default: taken from the clock).",
)
@click.option("--repeat", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None,
              help="With --only TARGET: run it once on this input, and print the outcome.")  # fmt: skip
def fuzz(
    as_json: bool, minutes: float, only: tuple[str, ...], corpus: Path | None, seed: int, repeat: Path | None
) -> None:
    """Feed damaged input to readers and decoders, guided by coverage if atheris is installed.

    A finding is an exception without a message for the user, a hang, a crash, memory beyond a limit, or
    invalid data that are accepted. Each is saved with the command that repeats it; the exit code is then 1.
    """
    need_checkout()
    from benchmarks.fuzz import run
    from rtsim.bench import figures

    if repeat is not None:
        check_of_use("--repeat", len(only) == 1, "one --only")
        outcome = run.repeated(only[0], repeat)
        click.echo(f"{outcome.kind} {outcome.place} {outcome.what}".rstrip())
        raise SystemExit(int(outcome.is_finding))
    found = run.run(minutes, only, corpus or run.CORPUS, seed)
    rows = [row for target in found for row in target.figures()]
    click.echo(figures.report("fuzz", [*rows, *run.totals(found)], as_json))
    for finding in (finding for target in found for finding in target.findings):
        tell(f"{finding.target}: {finding.kind}: {finding.what} ({finding.place}); {finding.command}")
    if any(target.findings for target in found):
        raise SystemExit(1)
