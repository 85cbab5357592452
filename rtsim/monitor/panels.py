"""The panels of curves of a window: contents, title and column of each."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple


class PlotPanel(NamedTuple):
    """One plot, whose curves are the channels `first` to `first + len(names)` of the history.

    deviation : first channel of their standard deviations; None without
    field : field whose values are drawn
    key : name of the panel in the settings file
    sides : right, left or "" of each curve
    """

    title: str
    quantity: str
    unit: str
    names: tuple[str, ...]
    first: int
    column: int
    extent_least: float
    from_zero: bool
    deviation: int | None = None
    field: str = ""
    key: str = ""
    sides: tuple[str, ...] = ()

    @property
    def axis_title(self) -> str:
        """Return quantity and unit as written on the axis."""
        return f"{self.quantity} ({self.unit})"

    @property
    def drawn_sides(self) -> tuple[str, ...]:
        """Return the side of each curve of a panel with one curve for each side, such as the loads of the
        feet; () for other panels.
        """
        apart = len(set(self.sides)) == len(self.sides)
        return self.sides if apart and "" not in self.sides else ()


def told_apart(panels: list[PlotPanel]) -> list[PlotPanel]:
    """Add the quantity to the titles of panels with the same title, such as angles and moments of a joint."""
    counts = Counter(panel.title for panel in panels)
    return [
        panel._replace(title=f"{panel.title}, {panel.quantity}") if counts[panel.title] > 1 else panel
        for panel in panels
    ]


def balanced(panels: list[PlotPanel]) -> tuple[PlotPanel, ...]:
    """Use one column instead of two if one of them would be nearly empty and its plots too tall."""
    counts = Counter(panel.column for panel in panels)
    if len(counts) == 2 and 2 * min(counts.values()) < max(counts.values()):
        panels = [panel._replace(column=0) for panel in panels]
    return tuple(panels)
