"""`rtsim diff`: where, and by how much, two runs differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from rtsim.cli.runs.difference_lines import quantity_lines, status_line
from rtsim.cli.terminal.lines import json_text, line, tell, told_unusable
from rtsim.cli.terminal.types import NumberWithin, check_new
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import count_of

if TYPE_CHECKING:
    from rtsim.files.comparison.runs import RunDifferences

MOST_TOLD = 12
"""Largest number of printed sentences of one kind."""


@click.command("diff")
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    type=NumberWithin(0.0, 1.0),
    default=0.0,
    show_default=True,
    help="Tolerance as a fraction of the peak of each quantity; 0 = all bits equal.",
)
@click.option(
    "--within",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="Tolerance of one quantity in the unit of that quantity (repeatable), such as joint_angles=1e-6.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
def command(one: Path, other: Path, tolerance: float, within: tuple[str, ...], as_json: bool) -> None:
    """Report where, and by how much, two recordings (.mcap) or tables (.mot, .sto, .csv) differ.

    Frames are paired by their times. Repetitions of a result and the flag `late`, which depend on the clock,
    are not compared. Settings and builds that differ are reported. Exit code 0: equal; 1: different; 2:
    unusable.
    """
    raise SystemExit(told_unusable(lambda: compare(one, other, tolerance, amounts_of(within), as_json)))


def amounts_of(within: tuple[str, ...]) -> dict[str, float]:
    """Return the permitted differences, name of a quantity -> amount in its unit, from words NAME=AMOUNT of
    the command line; ConfigError for other words.
    """
    amounts: dict[str, float] = {}
    for text in within:
        name, _, amount = text.partition("=")
        check_new(name, amounts, "--within")
        try:
            amounts[name] = float(amount)
        except ValueError:
            amounts[name] = -1.0
        if not name or not 0.0 <= amounts[name] < float("inf"):
            raise ConfigError(
                f"{text!r}",
                where="--within",
                allowed="NAME=AMOUNT, where AMOUNT is 0 or more in the unit of the quantity",
            )
    return amounts


def compare(one: Path, other: Path, tolerance: float, amounts: dict[str, float], as_json: bool) -> int:
    """Compare the results in two files and print the differences; return the exit code: 0 if they are equal,
    else 1.

    tolerance : permitted difference of all quantities
    amounts : name of a quantity -> permitted difference of its own
    """
    from rtsim.files.comparison.runs import compared

    found = compared(one, other)
    unknown = amounts.keys() - {name for _, name in found.quantities}
    if unknown:
        raise ConfigError(
            f"the quantity {sorted(unknown)[0]!r} is not contained in both files", where="--within"
        )
    settings = [*settings_of_journals(one, other), *found.settings]
    equal = found.is_equal(tolerance, amounts)
    for note in found.notes:
        tell(note)
    if as_json:
        click.echo(json_text(row_of(found, settings, equal)))
    else:
        for words in lines_of(found, settings, equal, (str(one), str(other))):
            click.echo(line(words))
    return int(not equal)


def settings_of_journals(one: Path, other: Path) -> list[str]:
    """Return sentences on the settings and builds that differ between the runs of two recordings; [] if a
    recording does not contain its settings (its journal).
    """
    from rtsim.live.exact.build import differences_of_builds
    from rtsim.live.exact.reading import read_run
    from rtsim.live.hardware.device_replay import flat

    if one.suffix.lower() != ".mcap":
        return []
    try:
        runs = [read_run(path) for path in (one, other)]
    except ConfigError:  # one of them has none: there is nothing to be told of it
        return []
    settings = [flat(msgspec.to_builtins(run.request.run)) for run in runs]
    told = [
        f"the second file was written by another build of rtsim than the first: {words}"
        for words in differences_of_builds(runs[0].build, runs[1].build)
    ]
    for key in settings[0].keys() | settings[1].keys():
        values = [of.get(key) for of in settings]
        if values[0] != values[1] and not key.startswith("ports."):
            told.append(f"setting {key} of the run: {values[0]} in the first file, {values[1]} in the second")
    return told


def row_of(found: RunDifferences, settings: list[str], equal: bool) -> dict:
    """Return the differences of two files as a dictionary, for programs.

    settings : sentences on settings that differ
    equal : whether the results are equal within the tolerances
    """
    return {
        "equal": equal,
        "sessions": found.n_session,
        "frames": found.n_frame,
        "unpaired": found.unpaired,
        "settings": settings,
        "status": found.status.row(),
        "quantities": [
            {"stream": stream, **quantity.row()}
            for (stream, _), quantity in found.quantities.items()
            if quantity.n_differ
        ],
    }


def lines_of(found: RunDifferences, settings: list[str], equal: bool, names: tuple[str, str]) -> list[str]:
    """Return the differences of two files as lines of text; the last line states whether they are equal.

    settings : sentences on settings that differ
    equal : whether the results are equal within the tolerances
    names : names of both files
    """
    told = [f"{count_of(found.n_frame, 'frame')} in {count_of(found.n_session, 'session')} were compared."]
    for title, sentences in (
        ("Settings that differ:", settings),
        ("Data contained in only one of the two files:", found.unpaired),
    ):
        if sentences:
            told += [title, *(f"  {words}" for words in sentences[:MOST_TOLD])]
        if len(sentences) > MOST_TOLD:
            told.append(f"  and {len(sentences) - MOST_TOLD} more")
    told += status_line(found.status, *names)
    told += quantity_lines(found.quantities.values(), *names)
    differ = any(quantity.n_differ for quantity in found.quantities.values())
    told.append(
        "Different."
        if not equal
        else "The files are equal within the tolerance."
        if differ
        else "The files are equal bit for bit."
    )
    return told
