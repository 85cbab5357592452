"""Which panels and curves of a stream the monitor window shows, and in how many columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from rtsim.monitor.choice.tasks import ALL, SELDOM, TASKS, group_of
from rtsim.monitor.panels import PlotPanel

SPREAD_MOST = 2
"""Largest difference between columns in the number of plots; beyond it, the plots are distributed anew."""
FIGURE, CONTACT, PRESSURE = "figure", "contact", "pressure"
PICTURES = {FIGURE: "Stick figure", CONTACT: "Contact on the joint", PRESSURE: "Pressure"}
"""Pictures that stand beside the curves, with their titles."""


@dataclass
class PanelChoice:
    """The chosen task (a prepared selection of panels, such as "muscles"), and the panels and curves that
    were switched on or off by hand.

    task : name of the task, a key of TASKS
    panels : key of a panel -> whether it is shown, for those changed by hand
    curves : keys of the hidden curves
    pictures : hidden pictures beside the curves, such as the stick figure or the pressure images
    """

    task: str = ALL
    panels: dict[str, bool] = field(default_factory=dict)
    curves: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)

    def take_task(self, task: str) -> None:
        """Show the panels of a task (a prepared selection, such as "muscles"), and discard choices made by
        hand.
        """
        self.task = task
        self.panels.clear()
        self.curves.clear()

    def shows(self, panel: PlotPanel) -> bool:
        """Return whether a panel is shown: as chosen by hand, else as the chosen task has it."""
        usual = group_of(panel.field, panel.unit) in TASKS[self.task] and panel.field not in SELDOM
        return self.panels.get(panel.key, usual)

    def shows_curve(self, panel: PlotPanel, k: int) -> bool:
        """Return whether curve number k of a panel is shown when the panel is shown."""
        return curve_key(panel, k) not in self.curves

    def set_panel(self, panel: PlotPanel, on: bool) -> None:
        """Show (on) or hide a panel, whatever the chosen task."""
        self.panels[panel.key] = on

    def set_curve(self, panel: PlotPanel, k: int, on: bool) -> None:
        """Show (on) or hide curve number k of a panel."""
        (self.curves.discard if on else self.curves.add)(curve_key(panel, k))

    def chosen(self, panels: Sequence[PlotPanel], n_column_most: int = 3) -> list[PlotPanel]:
        """Return the panels that are shown, arranged in as many columns as fit, of similar length."""
        shown = [panel for panel in panels if self.shows(panel)]
        if len(shown) == len(panels) and len({panel.column for panel in panels}) <= n_column_most:
            return shown
        return dealt_out(shown, n_column_most)


def curve_key(panel: PlotPanel, k: int) -> str:
    """Return the key of curve number k of a panel in the settings file, made of the names of both."""
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
