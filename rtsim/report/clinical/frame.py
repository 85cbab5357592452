"""Head and foot of every page of a report: person, date, trials, side, and page number."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.files.tables.legs import SIDES
from rtsim.report.clinical.drawing import GRID, HEIGHT, INK, MARGIN, SMALLEST, SOFT, WIDTH, Page
from rtsim.report.clinical.letters import folded, printable, short_name, width_of
from rtsim.report.clinical.report import GaitReport, convention_in_words, trials_in_words
from rtsim.report.clinical.session import ReportTrial
from rtsim.report.clinical.side_warning import side_warning

TOP = 330.0
"""Top of the contents, below the head of a page."""
END = HEIGHT - 210.0
"""Bottom of the contents, above the foot of a page."""
ROOM = WIDTH - 2.0 * MARGIN
LETTERS_MOST = 200
"""More never fit in two lines."""
NOTICE = "Computed by research software; not a medical device."


class PageFlow:
    """Lays out lines and tables one below the other, on as many pages as they need.

    pages : pages that exist so far, each with its title
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self.pages: list[tuple[str, Page]] = []
        self._y = 0.0
        self.turn()

    def turn(self) -> None:
        """Begin a new page."""
        self.pages.append((self._title + (", continued" if self.pages else ""), Page()))
        self._y = TOP

    @property
    def page(self) -> Page:
        """The current page."""
        return self.pages[-1][1]

    def room(self, height: float) -> float:
        """Reserve an area of this height below the previous content, on a new page if needed; return the
        vertical position of its upper edge.
        """
        if self._y + height > END:
            self.turn()
        y = self._y
        self._y += height
        return y

    def head(self, words: str) -> None:
        """Add a heading, which is never placed at the bottom of a page."""
        if self._y + 160.0 > END:
            self.turn()
        for k, line in enumerate(folded(words, ROOM, 36.0, True)):
            y = self.room(74.0 if k == 0 else 44.0)
            self.page.text(MARGIN, y + (50.0 if k == 0 else 20.0), line, 36.0, bold=True, room=ROOM)

    def words(self, words: str, size: float = 28.0, colour: str = INK) -> None:
        """Add a paragraph of text below the previous content."""
        for line in folded(words, ROOM, size):
            y = self.room(1.4 * size)
            self.page.text(MARGIN, y + size, line, size, colour)

    def facts(self, rows: list[tuple[str, str]], size: float = 26.0) -> None:
        """Add rows of a name and its explanation, in as many lines as they need."""
        for name, words in rows:
            for k, line in enumerate(folded(words, 0.76 * ROOM, size)):
                y = self.room(1.4 * size)
                if k == 0:
                    self.page.text(MARGIN, y + size, name, size, SOFT, room=0.22 * ROOM)
                self.page.text(MARGIN + 0.23 * ROOM, y + size, line, size)
        self.room(20.0)

    def table(
        self, head: list[str], rows: list[list[str]], widths: list[float], size: float = 28.0, every: int = 0
    ) -> None:
        """Add a table whose head is repeated on every page: the first column aligned to the left, the others
        to the right.

        widths : widths of the columns as fractions of the width of the page
        every : number of columns after which a column is aligned to the left again; 0 = only the first column
        """
        height = 1.55 * size
        edges = [MARGIN]
        for width in widths:
            edges.append(edges[-1] + width * ROOM)

        def put(cells: list[str], bold: bool) -> None:
            y = self.room(height)
            for k, cell in enumerate(cells):
                room = edges[k + 1] - edges[k] - 14.0
                if k == 0 or (every and k % every == 0):
                    self.page.text(
                        edges[k] + 24.0 * (k > 0), y + size, cell, size, bold=bold, room=room - 24.0
                    )
                else:
                    self.page.text(
                        edges[k + 1] - 6.0, y + size, cell, size, anchor="end", bold=bold, room=room
                    )
            self.page.line(MARGIN, y + height - 6.0, edges[-1], y + height - 6.0, SOFT if bold else GRID, 1.5)

        put(head, True)
        for row in rows:
            if self._y + height > END:
                self.turn()
                put(head, True)
            put(row, False)
        self.room(24.0)


def sides_drawn(pages: list[Page]) -> tuple[str, ...]:
    """Return the sides, right or left, of which panels on the pages have curves, for the heading of a report
    on a model whose feet are not known.
    """
    names = {series["name"] for page in pages for panel in page.panels for series in panel["series"]}
    return tuple(side for side in SIDES if side in names)


def framed(report: GaitReport, pages: list[tuple[str, Page]]) -> list[Page]:
    """Add a header and a footer to all pages, each given with its title."""
    known = report.sides or sides_drawn([page for _, page in pages])
    sides = " and ".join(known) or "no side known"
    shown = f"{sides}{'' if len(known) > 1 else ' side only' if known else ''}"
    doubted = side_warning(report)
    if report.without_stride:
        shown += f", no full stride was found for: {' and '.join(report.without_stride)}"
    trials = _with_trials("trials: ", report.now.trials)
    line = f"{shown}; {convention_in_words(report)}"
    if report.before is not None:
        line = _with_trials(f"{line}; {report.before.label}: ", report.before.trials)
    for number, (title, page) in enumerate(pages, 1):
        _headline(page, MARGIN, 120.0, title, 43.0, 0.52 * ROOM)
        _headline(page, WIDTH - MARGIN, 105.0, report.person, 38.0, 0.46 * ROOM, "end")
        page.text(WIDTH - MARGIN, 150.0, report.date, 28.0, SOFT, "end", room=0.46 * ROOM)
        page.text(MARGIN, 178.0, trials, 28.0, SOFT, room=ROOM)
        page.text(MARGIN, 218.0, line, 28.0, SOFT, room=ROOM)
        page.line(MARGIN, 242.0, WIDTH - MARGIN, 242.0, INK, 3.0)
        page.text(MARGIN, 269.0, doubted, 25.0, bold=True, room=ROOM)
        page.line(MARGIN, HEIGHT - 150.0, WIDTH - MARGIN, HEIGHT - 150.0, GRID, 2.0)
        norms = f"Norms: {report.norms.words}" if report.norms is not None else "No norms were given."
        page.text(MARGIN, HEIGHT - 112.0, norms, 24.0, SOFT, room=ROOM)
        page.text(MARGIN, HEIGHT - 76.0, f"rtsim {report.version}. {NOTICE}", 24.0, SOFT, room=0.8 * ROOM)
        page.text(WIDTH - MARGIN, HEIGHT - 76.0, f"page {number} of {len(pages)}", 24.0, SOFT, "end")
    return [page for _, page in pages]


def _headline(
    page: Page, x: float, y: float, words: str, size: float, room: float, anchor: str = "start"
) -> None:
    """Add a bold line, or two lines of smaller letters if it is too long for one: names of persons and of
    trials differ at their end, so that a name that is too long for two lines loses its middle.
    """
    words, small = printable(words), SMALLEST * size
    if width_of(words, small, True) <= room:
        page.text(x, y, words, size, anchor=anchor, bold=True, room=room)
        return
    most = min(len(words), LETTERS_MOST)
    while len(lines := folded(short_name(words, most), room, small, True)) > 2:
        most -= 1
    for k, line in enumerate(lines):
        page.text(x, y - (len(lines) - 1 - k) * 1.2 * small, line, small, anchor=anchor, bold=True, room=room)


def _with_trials(words: str, trials: Sequence[ReportTrial]) -> str:
    """Return a line for the header of a page: the given words, followed by the names of as many trials as
    fit.
    """
    small = SMALLEST * 28.0
    return words + trials_in_words(trials, ROOM - width_of(words, small), small)
