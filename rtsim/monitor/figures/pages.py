"""Distributes the panels of a saved figure over pages: the panels on each page, the height of each row, and
the notes at the foot of the last page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rtsim.errors import ConfigError
from rtsim.monitor.figures.key import KEY_LINE, key_lines, key_of
from rtsim.monitor.figures.paper import PAGE, PX_PER_MM, Paper

if TYPE_CHECKING:
    from rtsim.files.tables.panels import FigurePanel

PLOT_HEIGHT, TALLEST = 122.0, 300.0  # px of a row among others, usually and at the most
NUMBERED = 30.0  # px: numbers and title of an abscissa
MARGIN, HEAD, BETWEEN = 12.0, 26.0, 4.0  # px
FOOT, LINE = 10.0, 15.0  # px: above the notes, and of each line
PLOT_LEAST = 120.0  # px; a narrower plot is not worth looking at


class PanelRow(NamedTuple):
    """Panels side by side on a page of a figure; below : whether the horizontal axis has numbers and
    a title.
    """

    panels: list[FigurePanel]
    below: bool


class FigurePage(NamedTuple):
    """A page of a figure, with its panels.

    rows : rows of panels from top to bottom
    heights : heights of the rows [px]
    notes : lines of text at the foot of the page
    key : entries of the figure's key, line by line
    names : width of the space for names of curves beside the plots [px]
    columns : largest number of panels in a row of the whole figure
    """

    rows: list[PanelRow]
    heights: list[float]
    notes: list[str]
    key: list[list[str]]
    names: float
    columns: int


def size_of_pages(paper: Paper) -> tuple[float, float]:
    """Return width and height of each page [px]."""
    width, height = paper.size
    return PAGE[0] if width is None else width, PAGE[1] if height is None else height


def pages_of(paper: Paper, panels: Sequence[FigurePanel], notes: Sequence[str] = ()) -> list[FigurePage]:
    """Distribute panels and notes over pages, in order; panels of a group stay together if a page can hold
    them.

    ConfigError if a page is too small for a single row of panels.
    """
    from rtsim.monitor.figures.chart import LEFT, names_width

    width, height = size_of_pages(paper)
    key = key_lines(key_of(panels), width - 2.0 * MARGIN)
    room = height - 2.0 * MARGIN - HEAD - KEY_LINE * len(key)
    names = max((names_width(panel) for panel in panels), default=0.0)
    columns = max((len(row.panels) for row in rows_of(panels)), default=1)
    check_room(paper, panels, (width, height), 2.0 * MARGIN + columns * (LEFT + PLOT_LEAST + names), room)
    foot = folded(notes, width - 2.0 * MARGIN)
    split = split_panels(panels, room)
    pages = []
    for k, some in enumerate(split):
        rows = rows_of(some)
        free = room - sum(wanted_of(row) for row in rows) - BETWEEN * (len(rows) - 1) - FOOT
        n_line = min(len(foot), max(0, math.floor(free / LINE))) if k == len(split) - 1 else 0
        under = FOOT + LINE * n_line if n_line else 0.0
        heights = heights_of(rows, room - under, len(panels) == 1)
        pages.append(
            FigurePage(rows=rows, heights=heights, notes=foot[:n_line], key=key, names=names, columns=columns)
        )
        foot = foot[n_line:]
    most = max(1, math.floor((room - FOOT) / LINE))
    while foot:
        pages.append(FigurePage(rows=[], heights=[], notes=foot[:most], key=[], names=names, columns=columns))
        foot = foot[most:]
    return pages


def check_room(
    paper: Paper, panels: Sequence[FigurePanel], size: tuple[float, float], wide: float, room: float
) -> None:
    """Raise ConfigError if the widest or the highest row of panels does not fit on a page of a size [px].

    wide : width that the rows need
    room : height available for them
    """
    rows = rows_of(panels)
    tall = max((least_of(row) for row in rows), default=0.0)
    if size[0] >= wide and room >= tall:
        return
    need = [math.ceil(px / PX_PER_MM) for px in (wide, size[1] - room + tall)]
    raise ConfigError(
        f"a row of panels with their names needs {need[0]} x {need[1]} mm",
        where="--plot-size" if paper.width_mm is not None else paper.option,
        remedy="choose a larger size, or draw fewer curves",
    )


def split_panels(panels: Sequence[FigurePanel], room: float) -> list[list[FigurePanel]]:
    """Split panels into pages; room : height for the rows of a page [px]."""
    pages: list[list[FigurePanel]] = [[]]
    for some in blocks_of(panels):
        whole = tall_of(some) <= room
        for block in [some] if whole else [row.panels for row in rows_of(some)]:
            if pages[-1] and tall_of([*pages[-1], *block]) > room:
                pages.append([])
            pages[-1].extend(block)
    return pages


def blocks_of(panels: Sequence[FigurePanel]) -> list[list[FigurePanel]]:
    """Return the lists of successive panels that must stay on one page: panels of one group or of one row."""
    blocks: list[list[FigurePanel]] = []
    for panel in panels:
        last = blocks[-1][-1] if blocks else None
        same = last is not None and (
            (panel.group and panel.group == last.group) or (panel.row and panel.row == last.row)
        )
        if same:
            blocks[-1].append(panel)
        else:
            blocks.append([panel])
    return blocks


def tall_of(panels: Sequence[FigurePanel]) -> float:
    """Return the height of all rows of these panels with the gaps between them, at usual row heights [px]."""
    rows = rows_of(panels)
    return sum(wanted_of(row) for row in rows) + BETWEEN * max(0, len(rows) - 1)


def wanted_of(row: PanelRow) -> float:
    """Return the usual height of a row [px]."""
    from rtsim.monitor.figures.chart import height_least

    least = max(height_least(panel, row.below) for panel in row.panels)
    return max(PLOT_HEIGHT + NUMBERED * row.below, least)


def least_of(row: PanelRow) -> float:
    """Return the smallest height at which a row of panels is readable [px]."""
    from rtsim.monitor.figures.chart import NAME_LEAST, height_least

    return max(height_least(panel, row.below, NAME_LEAST) for panel in row.panels)


def heights_of(rows: Sequence[PanelRow], room: float, lone: bool) -> list[float]:
    """Return the heights of the rows of a page [px]: equally enlarged to fill the page, but not beyond the
    largest useful height of a row.

    room : height available [px]; lone : whether the figure has a single panel, which may fill the page
    """
    wanted = [wanted_of(row) for row in rows]
    spare = room - sum(wanted) - BETWEEN * max(0, len(rows) - 1)
    if spare < 0.0:  # a row by itself, with more names than there is room for
        return [max(least_of(row), tall + spare) for row, tall in zip(rows, wanted, strict=True)]
    each = spare / max(1, len(rows))
    return [tall + each if lone else max(tall, min(TALLEST, tall + each)) for tall in wanted]


def rows_of(panels: Sequence[FigurePanel]) -> list[PanelRow]:
    """Arrange panels in rows; a horizontal axis has numbers if no panel below shares it."""
    rows: list[list[FigurePanel]] = []
    for panel in panels:
        if panel.row and rows and rows[-1][0].row == panel.row:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    last = max((k for k, panel in enumerate(panels) if not panel.enlarged), default=-1)
    below = [
        row[0].enlarged
        or row[-1] is panels[last]
        or (bool(row[0].row) and len(row) > len(after))
        or (bool(row[0].row) != bool(after[0].row))
        for row, after in zip(rows, [*rows[1:], rows[-1]] if rows else [], strict=True)
    ]
    return [PanelRow(row, one) for row, one in zip(rows, below, strict=True)]


def folded(notes: Sequence[str], room: float) -> list[str]:
    """Wrap notes into lines of a given width [px]; a word that is longer than a line is broken."""
    from PySide6.QtGui import QFontMetricsF

    from rtsim.monitor.figures.chart import NAME, font_of

    metrics, lines = QFontMetricsF(font_of(NAME)), []
    for note in notes:
        line = ""
        for word in note.split():
            longer = f"{line} {word}".strip()
            if line and metrics.horizontalAdvance(longer) > room:
                lines.append(line)
                longer = word
            while metrics.horizontalAdvance(longer) > room and len(longer) > 1:
                n = max(1, math.floor(len(longer) * room / metrics.horizontalAdvance(longer)) - 1)
                lines.append(longer[:n])
                longer = longer[n:]
            line = longer
        lines.append(line)
    return lines
