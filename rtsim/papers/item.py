"""A figure or a table of a paper: its data, its numbers compared with the printed ones, and the drawing of
the figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rtsim.files.tables.panels import FigurePanel

if TYPE_CHECKING:
    from rtsim.monitor.figures.paper import Paper

Kind = Literal["figure", "table"]


class Publication(NamedTuple):
    """A paper: authors, title and reference.

    number : number on the command line, at the end of the name of its folder
    cited : authors, year, journal, pages
    """

    number: str
    title: str
    cited: str


class StatedBound(NamedTuple):
    """Limits of a number, both included; source : where they are stated, for example "section 3".

    They are stated in the paper, or were demanded before the number was computed; they are never taken from
    the computed result.
    """

    source: str
    low: float = -math.inf
    high: float = math.inf

    def is_kept_by(self, value: float) -> bool:
        """Return whether a value lies within the limits; NaN never does."""
        return self.low <= value <= self.high


class Comparison(NamedTuple):
    """One computed value compared with that of the paper, with its bound.

    paper : the printed number, or text if it is not a number, such as "about 16"; None = the paper gives
        none
    ours : the computed number; NaN = it could not be computed, which misses every bound
    reason : reason why there is no bound, or what differs; required without a bound
    """

    quantity: str
    unit: str
    paper: float | str | None
    ours: float
    bound: StatedBound | None = None
    reason: str = ""

    @property
    def is_held(self) -> bool | None:
        """Whether the value is within its bound; None without a bound."""
        return None if self.bound is None else self.bound.is_kept_by(self.ours)


class ItemResult(NamedTuple):
    """The computed result of a figure or a table.

    rows : comparisons with printed values
    panels : panels of the drawing; empty if there is none, or if `draw` makes it
    notes : notes at the foot of the figure and below the table
    data : source of the data, if a recording of the user replaced the item's own data; "" = the item's own
    has_data_of_paper : whether the paper used that recording, too; None = the item's own data were used
    draw : function that makes the drawing, with a title and the notes, in the output file that a Paper
        describes (its path and size), and returns the files written; None = the panels are drawn
    """

    rows: Sequence[Comparison]
    panels: Sequence[FigurePanel] = ()
    notes: Sequence[str] = ()
    data: str = ""
    has_data_of_paper: bool | None = None
    draw: Callable[[Paper, str, Sequence[str]], list[Path]] | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether there is something to draw."""
        return bool(self.panels) or self.draw is not None


class ItemInput(NamedTuple):
    """What the user gives for the computation of an item (figure or table), and a function for progress
    messages.

    recording : markers, or other data of the item, instead of its own; None = its own
    static : static trial of the person in the recording; None = none, or not needed
    progress : function called with short messages on the progress
    """

    recording: Path | None = None
    static: Path | None = None
    progress: Callable[[str], None] = lambda words: None


Computed = Callable[[ItemInput], ItemResult]
"""Signature of the function that computes the numbers and the drawing of an item."""


class PaperItem(NamedTuple):
    """A figure or a table that can be recomputed.

    number : as printed, "2", "3.4", "A.6"
    data : source of its data, as text
    has_data_of_paper : whether the paper used the same data; if not, the figure says so
    compute : function that computes the numbers and the drawing
    kernels : groups of kernels that it calls (`rtsim.live.compiled.group_table`)
    takes_recording : whether a recording may replace its data
    """

    kind: Kind
    number: str
    title: str
    data: str
    has_data_of_paper: bool
    compute: Computed
    kernels: tuple[str, ...] = ()
    takes_recording: bool = False

    @property
    def name(self) -> str:
        """Name of this figure or table of a paper, such as "figure 2"."""
        return f"{self.kind} {self.number}"
