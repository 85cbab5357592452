"""The dialogue of the monitor window for choosing panels, curves and pictures one by one, or a whole task: a
prepared selection, such as "clinic" or "muscles".
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtsim.monitor.choice.panel_choice import CONTACT, FIGURE, PICTURES, PRESSURE, PanelChoice
from rtsim.monitor.choice.tasks import GROUPS, TASKS, group_of
from rtsim.monitor.layout import WindowLayout
from rtsim.monitor.panels import PlotPanel

N_ACROSS = 4
"""Buttons of tasks in a line."""
PICTURES_TITLE = "Pictures"
Entry = tuple[PlotPanel, int | None] | str
"""The meaning of a line of the tree: a panel, a curve of it, or a picture."""
ENTRY = Qt.ItemDataRole.UserRole


class PanelChooser(QDialog):
    """A dialogue to choose a task (a prepared selection of panels), or single panels and curves; it stays
    open, and the signal `changed` reports every change.
    """

    changed = Signal()

    def __init__(self, choice: PanelChoice, parent: QWidget) -> None:
        super().__init__(parent)
        self.choice = choice
        self.setWindowTitle("Panels and curves")
        self.tasks: dict[str, QPushButton] = {}
        buttons = QGridLayout()
        for k, task in enumerate(TASKS):
            button = QPushButton(task.capitalize())
            button.setCheckable(True)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _, chosen=task: self._take_task(chosen))
            buttons.addWidget(button, k // N_ACROSS, k % N_ACROSS)
            self.tasks[task] = button
        self.tree = QTreeWidget()
        self.tree.setHeaderHidden(True)
        self.tree.itemChanged.connect(self._take_item)
        self._layout: WindowLayout | None = None
        self._items: list[tuple[QTreeWidgetItem, Entry]] = []
        column = QVBoxLayout(self)
        column.addWidget(QLabel("Show the panels for a task:"))
        column.addLayout(buttons)
        column.addWidget(QLabel("Or choose panels, curves and pictures:"))
        column.addWidget(self.tree, 1)
        self.resize(420, 560)
        self._mark()

    def set_layout(self, layout: WindowLayout) -> None:
        """Offer the panels of a stream; a task without any panel in this stream is disabled."""
        self._layout = layout
        blocker = QSignalBlocker(self.tree)
        self.tree.clear()
        self._items = []
        groups: dict[str, list[PlotPanel]] = {}
        for panel in layout.panels:
            groups.setdefault(group_of(panel.field, panel.unit), []).append(panel)
        for group in filter(groups.__contains__, GROUPS):
            heading = self._heading(group)
            for panel in groups[group]:
                item = self._add(heading, f"{panel.title} ({panel.unit})", (panel, None))
                for k, name in enumerate(panel.names if len(panel.names) > 1 else ()):
                    self._add(item, name, (panel, k))
        heading = self._heading(PICTURES_TITLE)
        there = {FIGURE: True, CONTACT: layout.contact is not None, PRESSURE: layout.picture is not None}
        for key, name in PICTURES.items():
            if there[key]:
                self._add(heading, name, key)
        for task, button in self.tasks.items():
            any_there = any(group in groups for group in TASKS[task])
            button.setEnabled(any_there)
            button.setToolTip("" if any_there else "This stream has nothing to show for this task.")
        del blocker
        self._mark()

    def shown(self, entry: Entry) -> bool:
        """Return whether the checkbox of an entry is ticked: whether its panel, curve or picture is shown."""
        if isinstance(entry, str):
            return entry not in self.choice.pictures
        panel, k = entry
        return self.choice.shows(panel) if k is None else self.choice.shows_curve(panel, k)

    def items(self) -> Iterator[tuple[QTreeWidgetItem, Entry]]:
        """Yield every entry of the dialogue that has a checkbox, with the panel, curve or picture that it
        shows or hides.
        """
        return iter(self._items)

    def _heading(self, words: str) -> QTreeWidgetItem:
        heading = QTreeWidgetItem(self.tree, [words])
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
        heading.setExpanded(True)
        return heading

    def _add(self, above: QTreeWidgetItem, words: str, entry: Entry) -> QTreeWidgetItem:
        item = QTreeWidgetItem(above, [words])
        item.setFlags(
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable
        )
        item.setData(0, ENTRY, len(self._items))
        self._items.append((item, entry))
        return item

    def _mark(self) -> None:
        """Tick the checkboxes of the panels, curves and pictures that are shown."""
        blocker = QSignalBlocker(self.tree)
        for item, entry in self._items:
            item.setCheckState(0, Qt.CheckState.Checked if self.shown(entry) else Qt.CheckState.Unchecked)
        del blocker
        for task, button in self.tasks.items():
            button.setChecked(task == self.choice.task)

    def _take_task(self, task: str) -> None:
        self.choice.take_task(task)
        self._mark()
        self.changed.emit()

    def _take_item(self, item: QTreeWidgetItem) -> None:
        number = item.data(0, ENTRY)
        if number is None:
            return
        entry, on = self._items[number][1], item.checkState(0) is Qt.CheckState.Checked
        if isinstance(entry, str):
            (self.choice.pictures.discard if on else self.choice.pictures.add)(entry)
        elif entry[1] is None:
            self.choice.set_panel(entry[0], on)
        else:
            self.choice.set_curve(entry[0], entry[1], on)
        self.changed.emit()
