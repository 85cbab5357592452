"""Draws a page as SVG: lines, areas, escaped texts that fit into their room, and a frame. Units are tenths
of a mm.

Only presentation attributes are used (no CSS), so that programs for SVG Tiny show the same picture as a
browser.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from rtsim.report.clinical.letters import cut, printable, width_of

FloatArray = NDArray[np.float64]
WIDTH, HEIGHT = 2100, 2970
"""An A4 page."""
MARGIN = 110.0
INK, SOFT, GRID, NORM = "#1a1a1a", "#5c6166", "#d5d9de", "#c9cdd2"
COLOURS = {"right": "#00609c", "left": "#c1121f"}
"""Left red, right blue, as reports of gait have them."""
DASHES = {"right": "", "left": "22 9"}
"""Dashes of the sides, by which they can be told in a grey print."""
THIN_DASHES = {"right": "", "left": "11 5"}
"""Of single strides and of what is flagged."""
BEFORE_DASHES = {"right": "3 8", "left": "18 7 3 7"}
"""Of an earlier session."""
SMALLEST = 0.75
"""Smallest size of a text, in parts of its own, before it is cut."""


class Page:
    """The elements of one page, in the order of drawing.

    panels : data of its panels, shown by the script when a reader points at them
    """

    def __init__(self) -> None:
        self.elements: list[str] = []
        self.panels: list[dict] = []

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 2.0, dash: str = ""
    ) -> None:
        """Add a straight line."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.elements.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}"{dashed}/>'
        )

    def curve(
        self, x: FloatArray, y: FloatArray, colour: str, width: float, dash: str = "", opacity: float = 1.0
    ) -> None:
        """Add a curve through points, interrupted where values are missing."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        for run in runs_of(np.isfinite(x) & np.isfinite(y)):
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[run], y[run], strict=True))
            self.elements.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
                f'stroke-opacity="{opacity:g}" stroke-linejoin="round"{dashed}/>'
            )

    def area(self, x: FloatArray, low: FloatArray, high: FloatArray, colour: str, opacity: float) -> None:
        """Add the area between two curves, where both have values."""
        for run in runs_of(np.isfinite(low) & np.isfinite(high)):
            there = [f"{a:.1f},{b:.1f}" for a, b in zip(x[run], high[run], strict=True)]
            back = [f"{a:.1f},{b:.1f}" for a, b in zip(x[run][::-1], low[run][::-1], strict=True)]
            self.elements.append(
                f'<polygon points="{" ".join(there + back)}" fill="{colour}" fill-opacity="{opacity:g}" '
                'stroke="none"/>'
            )

    def box(self, x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> None:
        """Add a filled rectangle."""
        self.elements.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{max(height, 0.0):.1f}" '
            f'fill="{fill}" fill-opacity="{opacity:g}"/>'
        )

    def text(
        self, x: float, y: float, words: str, size: float = 32.0, colour: str = INK, anchor: str = "start",
        bold: bool = False, room: float = math.inf, upright: bool = False,
    ) -> None:  # fmt: skip
        """Add a line of text. A text that does not fit is made smaller, then cut off.

        room : available width
        upright : whether the text is rotated, to be read from below
        """
        words = printable(words)
        size = max(SMALLEST * size, min(size, size * room / max(width_of(words, size, bold), 1e-9)))
        words = cut(words, room, size, bold)
        weight = ' font-weight="bold"' if bold else ""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if upright else ""
        self.elements.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size:.4g}" fill="{colour}" '
            f'text-anchor="{anchor}"{weight}{turn}>{escape(words)}</text>'
        )

    def svg(self) -> str:
        """Return the page as an SVG document."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="210mm" '
            f'height="297mm">\n<rect x="0" y="0" width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
            + "\n".join(self.elements)
            + "\n</svg>\n"
        )


def runs_of(known: NDArray[np.bool_]) -> list[slice]:
    """Return the index ranges of at least two successive points that are known."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > 1]


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high for the marks of an axis, at most `most` of them."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-12) / most))
    step *= next((k for k in (1.0, 2.0, 5.0, 10.0) if (high - low) / (k * step) <= most), 20.0)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def rows_to_show(curves: Sequence[tuple[FloatArray, NDArray[np.bool_]]], least: float) -> list[FloatArray]:
    """Return rows of values that determine the range of a vertical axis: those of the curves, with NaN in
    place of values that must not stretch the range.

    Sound values, those without flags, always count. If less than half of a curve is sound, the flagged values
    make up most of the picture: their middle nine tenths count, too, as long as the range stays below three
    times that of the sound values.

    curves : values (n_row, n), and whether each is sound
    least : least length of the range
    """
    sound = [np.where(good, values, math.nan) for values, good in curves]
    low, high = span_of(sound, least) if any(np.isfinite(x).any() for x in sound) else (-math.inf, math.inf)
    rows = [row for values in sound for row in values]
    for (values, _), good in zip(curves, sound, strict=True):
        known = np.isfinite(values)
        if known.sum() > 0 and 2 * np.isfinite(good).sum() < known.sum():
            first, last = np.percentile(values[known], (5.0, 95.0))
            first, last = max(first, low - (high - low)), min(last, high + (high - low))
            rows += [*np.where(known & (values >= first) & (values <= last), values, math.nan)]
    return rows


def span_of(rows: Sequence[FloatArray], least: float) -> tuple[float, float]:
    """Return the range of an axis that shows all values and is at least `least` long."""
    known = [row[np.isfinite(row)] for row in rows]
    numbers = np.concatenate(known) if known else np.zeros(0)
    if not len(numbers):
        return -0.5 * least, 0.5 * least
    low, high = float(numbers.min()), float(numbers.max())
    spare = max(0.06 * (high - low), 0.5 * (least - (high - low)))
    return low - spare, high + spare
