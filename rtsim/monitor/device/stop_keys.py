"""The keys of the emergency stop: space and Esc, in every window of the program."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

KEYS = (Qt.Key.Key_Space, Qt.Key.Key_Escape)


class StopKeys(QObject):
    """Sees the keys of the emergency stop before any widget does, whatever has the focus. A shortcut would
    fail where a field takes the key for itself, as one for numbers takes space, or a menu Esc. While they
    are on, no key of them does anything else.

    stop : function that sends the emergency stop, called once for each press
    """

    def __init__(self, parent: QObject, stop: Callable[[], None]) -> None:
        super().__init__(parent)
        self._stop = stop
        self.on = False

    def set_on(self, on: bool) -> None:
        """Listen to the keys (on), or leave them to the windows."""
        application = QApplication.instance()
        if on == self.on or application is None:
            return
        self.on = on
        if on:
            application.installEventFilter(self)
        else:
            application.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Return whether an event is a press of such a key, which nothing else may see."""
        if not isinstance(event, QKeyEvent) or event.key() not in KEYS:
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()  # no shortcut: a press of the key follows
            return True
        if event.type() is not QEvent.Type.KeyPress:
            return False
        if not event.isAutoRepeat():
            self._stop()
        return True
