"""The live table in the terminal (rich), drawn by a subscriber so that it never slows the loop."""

from __future__ import annotations

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rtsim.report.tally import Tally

COLOURS = {"ok": "green", "late": "yellow", "degraded": "yellow", "stale": "magenta"}


def live_table(tally: Tally, source: str) -> RenderableType:
    """The whole picture of a run at one moment."""
    return Group(
        header(tally, source),
        Columns([values_table(tally), latency_table(tally)], padding=(0, 3)),
        footer(tally),
    )


def header(tally: Tally, source: str) -> Text:
    text = Text()
    text.append("rtsim live", "bold")
    text.append(f"  {source}  method {tally.method or '-'}  subject {tally.subject or '-'}\n")
    text.append(f"{tally.n_frame} frames  {tally.rate:.1f} Hz  marker RMS {tally.rms_mm:.1f} mm  ")
    for words, n in sorted(tally.statuses.items(), key=lambda item: -item[1]):
        text.append(f"{words} {n}  ", COLOURS.get(words, "red"))
    return text


def values_table(tally: Tally) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("joint")
    table.add_column("value", justify="right")
    table.add_column("", style="dim")
    for label, (value, unit) in tally.values.items():
        table.add_row(Text(label.replace("_", " ")), f"{value:8.2f}", unit)
    return table


def latency_table(tally: Tally) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("latency [us]")
    for label in ("p50", "p99", "p99.9", "max"):
        table.add_column(label, justify="right")
    for stage, values in tally.latencies_us().items():
        table.add_row(stage.replace("_", " "), *(f"{us:.0f}" for us in values.values()))
    for name in ("lost", "skipped", "late", "degraded", "not_converged", "invalid_input"):
        table.add_row(name.replace("_", " "), str(tally.counters.get(name, 0)))
    return table


def footer(tally: Tally) -> Text:
    lines = [*tally.doubtful[:4], *tally.sentences]
    return Text("\n".join(lines), "yellow")


def print_summary(console: Console, summary: dict) -> None:
    """The closing lines of a run."""
    rms = "-" if summary["marker_rms_mm"] is None else f"{summary['marker_rms_mm']:.2f} mm"
    console.print(
        f"[bold]{summary['frames']} frames[/], {summary['lost']} lost, {summary['late']} late, "
        f"{summary['skipped']} skipped; marker RMS {rms} ({escape(summary['method'])})"
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("latency [us]")
    for label in ("p50", "p99", "p99.9", "max"):
        table.add_column(label, justify="right")
    for stage, values in summary["latency_us"].items():
        table.add_row(stage.replace("_", " "), *(f"{us:.0f}" for us in values.values()))
    console.print(table)
    odd = {k: v for k, v in summary["statuses"].items() if k != "ok"}
    if odd:
        console.print("flagged frames: " + ", ".join(f"{k} {v}" for k, v in odd.items()))
    if summary["faults"]:
        console.print(
            escape(
                "counted: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in summary["faults"].items())
            )
        )
