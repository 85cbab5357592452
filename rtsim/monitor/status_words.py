"""Texts for the status strip and for the browser page on a stream: captions, numbers and colours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from rtsim.monitor.feed import Feed
from rtsim.monitor.layout import WindowLayout
from rtsim.monitor.meter import Latency, quality_of, status_words
from rtsim.monitor.plots.history import Quality

NO_VALUE = "–"
LONG_MS, WITHOUT_DECIMALS = 9999.5, 100.0
"""Latency from which it is shown in seconds [ms], and value from which a time has no decimals."""
COUNT_MOST = 100_000_000  # larger counts and rates are written with a power of ten
N_COUNTER = 12  # counters of each side in a tool tip
RATE_SHORTFALL = 0.9  # a measured rate below this share of the nominal one is coloured
MOODS = {
    Quality.GOOD: "good", Quality.DEGRADED: "warning", Quality.UNUSABLE: "bad", Quality.MISSING: "bad",
}  # fmt: skip
DETAILS = ("model", "subject", "side", "source", "markers", "forces")
TITLE = ("subject", "side", "source")


class ChipText(NamedTuple):
    """Caption and explanation of a status value, and its widest value, for which space is reserved."""

    caption: str
    explanation: str
    widest: str


P50_P99 = "median and 99th percentile over the last thousand frames."
CHIPS = {
    "rate": ChipText(
        "Rate / nominal",
        "Frames per second: published by the estimator, and announced by the source.",
        "9999.9 / 9999 Hz",
    ),
    "inside": ChipText(
        "Receive → publish p50 / p99", f"Time of a frame in the estimator: {P50_P99}", "99.9 / 999.9 ms"
    ),
    "whole": ChipText(
        "End to end p50 / p99",
        f"Time from capture to arrival in this window: {P50_P99} Unknown when the source runs on "
        "another clock.",
        "99.9 / 999.9 ms",
    ),
    "frames": ChipText("Frames", "Result frames seen by this window.", "99 999 999"),
    "lost": ChipText("Lost", "Result frames that never arrived in this window.", "9 999"),
    "late": ChipText("Late", "Frames that the estimator finished after their deadline.", "9 999"),
    "skipped": ChipText(
        "Skipped", "Result frames that this window left out because it was too slow.", "9 999"
    ),
    "iterations": ChipText("Iterations", "Solver iterations for the newest frame.", "99"),
    "status": ChipText("Newest frame", "Status of the newest frame.", "not converged"),
}


class StatusWords(NamedTuple):
    """The text of a status value, and the name of its colour in the Theme, "" = the usual colour."""

    text: str
    mood: str = ""


def figures_of(feed: Feed) -> dict[str, StatusWords]:
    """Return the texts for the values of the status strip, by name; while the sender is silent they are
    shown as outdated.
    """
    meter, counters = feed.meter, feed.counters()
    connection = feed.connection()
    lost, skipped = counters["lost"], counters["skipped"]
    figures = {
        "rate": StatusWords(NO_VALUE),
        "inside": StatusWords(_latency(meter.latency_inside())),
        "whole": StatusWords(_latency(meter.latency_whole())),
        "frames": StatusWords(count_words(meter.n_frame)),
        "lost": StatusWords(count_words(lost), "bad" if lost else ""),
        "late": StatusWords(count_words(meter.n_late), "warning" if meter.n_late else ""),
        "skipped": StatusWords(count_words(skipped), "warning" if skipped else ""),
    }
    if feed.layout:
        figures["rate"] = _rate(meter.rate() if connection.flows else math.nan, feed.layout.rate)
    if not connection.flows or not meter.n_frame:
        paused = StatusWords("paused" if feed.holds else NO_VALUE)
        return figures | {"iterations": StatusWords(NO_VALUE), "status": paused}
    quality = quality_of(meter.status)
    late = quality is Quality.GOOD and meter.status
    newest = StatusWords(status_words(meter.status), "warning" if late else MOODS[quality])
    if feed.device_fault:
        newest = StatusWords("device fault", "bad")
    return figures | {"iterations": StatusWords(count_words(meter.iterations)), "status": newest}


def details_of(layout: WindowLayout, method: str) -> str:
    """Return one line on what is estimated with which method, for which person and from which data."""
    parts = [method, *(layout.meta.get(key, "") for key in DETAILS), f"session {layout.session_id[:8]}"]
    return " · ".join(part for part in parts if part)


def title_of(layout: WindowLayout) -> str:
    """Return person, side and trial as text; "" if the sender states none of them."""
    return " · ".join(layout.meta[key] for key in TITLE if layout.meta.get(key))


def _rate(rate: float, nominal: float) -> StatusWords:
    announced = f"{nominal:.3g}" if nominal < 1.0 else f"{nominal:.0f}"
    announced = announced if math.isfinite(nominal) else "irregular"
    return StatusWords(
        f"{_number(rate)} / {announced} Hz", "warning" if rate < RATE_SHORTFALL * nominal else ""
    )


def _number(value: float) -> str:
    if not math.isfinite(value):
        return NO_VALUE
    return f"{value:.1f}" if value < COUNT_MOST else f"{value:.1e}"


def count_words(value: int) -> str:
    """Return a count with separated thousands."""
    if value >= COUNT_MOST:
        return f"{value:.1e}"
    return f"{value:,}".replace(",", "\u2009")


def _latency(latency: Latency) -> str:
    if not math.isfinite(latency.p50):
        return NO_VALUE
    if latency.p99 < LONG_MS:
        return f"{_short(latency.p50)} / {_short(latency.p99)} ms"
    return f"{_short(1e-3 * latency.p50)} / {_short(1e-3 * latency.p99)} s"


def _short(value: float) -> str:
    """Return a number as text with one decimal, or without decimals if it is large."""
    return f"{value:.1f}" if value < WITHOUT_DECIMALS else f"{value:.0f}"


def counter_lines(counters: Mapping[str, int]) -> list[str]:
    """Return the counters above zero, one line each."""
    counted = sorted((name, n) for name, n in counters.items() if n)
    lines = [f"{name.replace('_', ' ')}: {count_words(n)}" for name, n in counted[:N_COUNTER]]
    return [*lines, f"and {len(counted) - N_COUNTER} more"] if len(counted) > N_COUNTER else lines
