"""The live table of a result stream in the terminal (library rich), drawn by a subscriber so that it never
slows the computation of the results.

Every cell is a Text, as rich would interpret [us] in a plain string as a colour and :cat: as an emoji.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rtsim.report.tally import StreamSummary, in_full
from streams.account import plain

COLOURS = {
    "ok": "green", "late": "yellow", "degraded": "yellow", "uncertain": "yellow", "suspect": "yellow",
    "implausible": "yellow", "stale": "magenta",
}  # fmt: skip
GAP = 2
"""Distance between columns of a table [characters]."""
MOST_TOLD = 10
"""Sentences of a run in its closing lines."""
COUNTED = (
    "lost", "skipped", "late", "degraded", "uncertain", "suspect", "implausible", "not_converged",
    "invalid_input",
)  # fmt: skip


def live_table(tally: StreamSummary, source: str) -> RenderableType:
    """Return the live table of a result stream: header, values of the joints, latencies and counters, footer.

    tally : the statistics collected so far
    source : name of the stream or recording in the header
    """
    return Group(
        header(tally, source),
        Columns([values_table(tally), latency_table(tally)], padding=(0, 3)),
        footer(tally),
    )


def header(tally: StreamSummary, source: str) -> Text:
    text = Text()
    text.append("rtsim live", "bold")
    method = in_full(tally.method, tally.chosen) or "-"
    text.append(f"  {plain(source)}  method {method}  subject {tally.subject or '-'}")
    text.append(f"  side {tally.side}\n" if tally.side else "\n")
    if tally.addresses:
        text.append("  ".join(f"{key} at {where}" for key, where in tally.addresses.items()) + "\n", "dim")
    text.append(f"{tally.n_frame} frames  {tally.rate:.1f} Hz  marker RMS {tally.rms_mm:.1f} mm  ")
    for words, n in sorted(tally.statuses.items(), key=lambda item: -item[1]):
        text.append(f"{words} {n}  ", COLOURS.get(words, "red"))
    return text


def values_table(tally: StreamSummary) -> NumberTable:
    table = NumberTable("joint", "value", "")
    for label, (value, unit) in tally.values.items():
        table.add(label.replace("_", " "), f"{value:.2f}", unit)
    return table


def latency_table(tally: StreamSummary) -> NumberTable:
    table = latencies(tally.latencies_us())
    for name in COUNTED:
        table.add(name.replace("_", " "), str(tally.counters.get(name, 0)))
    return table


def latencies(by_stage: Mapping[str, Mapping[str, float]]) -> NumberTable:
    """Return a table of latencies with a row of percentiles for each stage; by_stage : stage -> percentile
    -> duration [us].
    """
    table = NumberTable("latency [us]", "p50", "p99", "p99.9", "max")
    for stage, values in by_stage.items():
        table.add(stage.replace("_", " "), *(f"{us:.0f}" for us in values.values()))
    return table


class NumberTable:
    """A table without rules: a column of names, then numbers below heads, and a column of units if there are
    no heads.

    If the terminal is too narrow, names are wrapped, and each number moves to a line of its own with its
    head, because rich would otherwise cut off digits.
    """

    def __init__(self, first: str, *others: str) -> None:
        self.heads = (first, *others)
        self.rows: list[tuple[str, ...]] = []

    def add(self, *cells: str) -> None:
        """Add a row, which may have fewer cells than there are columns."""
        self.rows.append(cells)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._table())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = list(zip_longest(self.heads, *self.rows, fillvalue=""))
        words = [len(word) for name in columns[0] for word in name.split()]
        need = max(words, default=0) + sum(GAP + max(map(len, column)) for column in columns[1:])
        if need <= options.max_width:
            yield self._table()
            return
        yield Text(self.heads[0], "dim")
        yield Text("\n".join(map(self._line, self.rows)))

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(Text(self.heads[0]))
        for head in self.heads[1:]:
            table.add_column(
                Text(head), justify="right" if head else "left", style="" if head else "dim", no_wrap=True
            )
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _line(self, row: tuple[str, ...]) -> str:
        """Return the row as one line of text."""
        shown = len(self.heads) > 3 and len(row) > 2  # what a single number is, its name says
        cells = zip(self.heads[1:], row[1:], strict=False)
        told = [f"{head} {cell}" if shown and head else cell for head, cell in cells]
        return f"{row[0]}: {(', ' if shown else ' ').join(told)}"


def footer(tally: StreamSummary) -> Text:
    lines = [*tally.doubtful[:4], *tally.sentences]
    return Text("\n".join(lines), "yellow")


def print_summary(console: Console, summary: dict) -> None:
    """Print the closing lines of a run from its statistics: frames, marker residual, latencies,
    flags, notes.
    """
    rms = "-" if summary["marker_rms_mm"] is None else f"{summary['marker_rms_mm']:.2f} mm"
    console.print(
        Text.assemble(
            (f"{summary['frames']} frames", "bold"),
            f", {summary['lost']} lost, {summary['late']} late, {summary['skipped']} skipped; "
            f"marker RMS {rms} ({in_full(summary['method'], summary['chosen']) or 'no method'}"
            f"{', ' + summary['side'] if summary['side'] else ''})",
        )
    )
    if summary["frames"]:
        console.print(latencies(summary["latency_us"]))
    odd = {k: v for k, v in summary["statuses"].items() if k != "ok"}
    if odd:
        console.print(Text("flagged frames: " + ", ".join(f"{k} {v}" for k, v in odd.items())))
    for said in summary["told"][:MOST_TOLD]:
        console.print(Text(f"note: {said}"))
    if len(summary["told"]) > MOST_TOLD:
        console.print(Text(f"{len(summary['told']) - MOST_TOLD} more notes are in the output of --json"))
    if summary["implausible"]:
        named = ", ".join(f"{name} in {n} frames" for name, n in summary["implausible"].items())
        console.print(Text(f"implausible angles: {named}"))
    if summary["flagged_by_joint"]:
        named = ", ".join(f"{name} in {n} frames" for name, n in summary["flagged_by_joint"].items())
        console.print(Text(f"flagged joints: {named}"))
    flagged = Counter[str]()
    for words, n in odd.items():
        flagged.update(dict.fromkeys(words.split(", "), n))
    faults = {k: v for k, v in summary["faults"].items() if flagged[k] != v}  # the others are told above
    if faults:
        counted = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in faults.items())
        console.print(Text(f"counters of the run: {counted}"))
