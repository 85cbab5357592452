"""The choice of the panels and curves of a stream that are shown, and of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rtsim.monitor.choice.tasks import ALL, SELDOM, TASKS, group_of
from rtsim.monitor.panels import PlotPanel

SPREAD_MOST = 2
"""Plots by which columns may differ before they are dealt out anew."""
FIGURE, CONTACT, PRESSURE = "figure", "contact", "pressure"
PICTURES = {FIGURE: "Stick figure", CONTACT: "Contact on the joint", PRESSURE: "Pressure"}
"""Pictures that stand beside the curves, with their titles."""


@dataclass
class PanelChoice:
    """The chosen task, and the panels and curves that were switched on or off by hand.

    panels : key of a panel -> whether it is shown, for those changed by hand
    curves : keys of the hidden curves
    pictures : hidden pictures, from PICTURES
    """

    task: str = ALL
    panels: dict[str, bool] = field(default_factory=dict)
    curves: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)

    def take_task(self, task: str) -> None:
        """Show the panels of a task, and discard choices made by hand."""
        self.task = task
        self.panels.clear()
        self.curves.clear()

    def shows(self, panel: PlotPanel) -> bool:
        """Return whether a panel is shown."""
        usual = group_of(panel.field, panel.unit) in TASKS[self.task] and panel.field not in SELDOM
        return self.panels.get(panel.key, usual)

    def shows_curve(self, panel: PlotPanel, k: int) -> bool:
        """Return whether the curve with this index is shown when its panel is shown."""
        return curve_key(panel, k) not in self.curves

    def set_panel(self, panel: PlotPanel, on: bool) -> None:
        """Show or hide a panel."""
        self.panels[panel.key] = on

    def set_curve(self, panel: PlotPanel, k: int, on: bool) -> None:
        """Show or hide a curve."""
        (self.curves.discard if on else self.curves.add)(curve_key(panel, k))

    def chosen(self, panels: Sequence[PlotPanel], n_column_most: int = 3) -> list[PlotPanel]:
        """Return the panels that are shown, arranged in as many columns as fit, of similar length."""
        shown = [panel for panel in panels if self.shows(panel)]
        if len(shown) == len(panels) and len({panel.column for panel in panels}) <= n_column_most:
            return shown
        return dealt_out(shown, n_column_most)


def curve_key(panel: PlotPanel, k: int) -> str:
    """Return the key of a curve in the settings file, made of panel and name."""
    return f"{panel.key}/{panel.names[k]}"


def dealt_out(panels: Sequence[PlotPanel], n_column_most: int = 3) -> list[PlotPanel]:
    """Distribute panels, in their order, over at most `n_column_most` columns of similar length."""
    counts = Counter(panel.column for panel in panels)
    columns = sorted(counts)
    n_column = min(len(columns), len(panels), n_column_most)
    even = not counts or max(counts.values()) - min(counts.values()) <= SPREAD_MOST
    if even and n_column == len(columns):
        return [panel._replace(column=columns.index(panel.column)) for panel in panels]
    ordered = sorted(panels, key=lambda panel: panel.column)
    return [panel._replace(column=i * n_column // len(ordered)) for i, panel in enumerate(ordered)]
