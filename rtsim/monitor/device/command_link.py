"""Requests of the monitor window to the estimator that sends the results: switch of method, pause, event
marks, parameters and arming of a device, emergency stop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QWidget

from rtsim.device.arming import EMERGENCY
from rtsim.files.gait.marks import MARK
from rtsim.monitor.controls import METHODS, ToolBar
from rtsim.monitor.device.commands import Commander
from rtsim.monitor.device.device import DevicePanel
from rtsim.monitor.device.stop_keys import StopKeys
from rtsim.monitor.feed import Feed
from rtsim.monitor.words import SENTENCE_MOST, printable

MARKS_MOST = 32
ESTIMATOR_COMMANDS = ("set_method",)  # where the sender does not say what it takes


class CommandLink:
    """The connection between the buttons of the window and the control address of the program that sends the
    results.

    say : function that shows a message and updates the texts of the window
    """

    def __init__(
        self,
        window: QWidget,
        feed: Feed,
        commander: Commander | None,
        bar: ToolBar,
        device: DevicePanel,
        say: Callable[[str], None],
    ) -> None:
        self.feed, self.commander, self.bar, self.device, self._say = feed, commander, bar, device, say
        self.method = self._asked = self._announced = ""  # in use, asked for, told by the session
        self._marks: deque[dict[str, Any]] = deque(maxlen=MARKS_MOST)  # that wait for the command before
        self._wishes: dict[str, float] = {}  # parameters that were moved while a command was under way
        self._learns = False  # the reason of a state that was there before this window
        self.stop_keys = StopKeys(window, self.stop)
        bar.method_chosen.connect(self.set_method)
        bar.commanded.connect(self.command)
        device.commanded.connect(self.command)
        device.wished.connect(self.wish)
        device.emergency.connect(self.stop)
        if commander:
            commander.answered.connect(self.show_answer)

    @property
    def busy(self) -> bool:
        """Whether a command is being sent."""
        return self.commander is not None and self.commander.busy

    def offer(self) -> bool:
        """Show the buttons for the commands that the sender accepts, if its control address is known. Return
        whether the session has another method than the one before, as that of a run after `set_method`.
        """
        layout = self.feed.layout
        if layout is None:
            return False
        before, self._announced = self._announced, layout.meta.get("method", "")
        self.method = self._announced
        self.device.set_layout(layout.device, self.commander is not None)
        if self.commander:
            commands = ESTIMATOR_COMMANDS if layout.commands is None else layout.commands
            self.bar.offer_methods(METHODS if layout.methods is None else layout.methods)
            self.bar.offer(commands)
            if layout.device:
                self._learns = self.commander.send("status", {})
            self.stop_keys.set_on(EMERGENCY in commands)
        return before != self._announced

    def show(self) -> None:
        """Update the displayed state of the device (armed, values of its parameters), and the buttons."""
        feed = self.feed
        said = feed.telemetry if feed.layout and feed.told_of_this_session else None
        self.device.show_state(feed.device, feed.connection().heard, feed.reason, said, self.busy)
        if self.commander:
            self.bar.show_method(self.method, self.busy)
            self.bar.show_holding(feed.holds, self.busy)

    def set_method(self, method: str) -> None:
        """Ask the estimator to use another solution method from now on."""
        if self.commander and self.commander.send("set_method", {"method": method}):
            self._asked = method
            self._say(f"Asked the estimator for the method {method!r}.")
        self.show()

    def command(self, name: str, args: dict[str, Any] | None = None) -> None:
        """Send a command to the program that sends the results; args : arguments of the command, by name."""
        if self.commander and self.commander.send(name, args or {}):
            self._asked = ""
        self.show()

    def stop(self) -> None:
        """Send the emergency stop at once, even while another command is being sent."""
        self._wishes.clear()
        if self.commander:
            self.commander.stop(EMERGENCY)
            self._say("Emergency stop.")

    def wish(self, name: str, value: float) -> None:
        """Request a new value of a parameter of the device, after the user has moved its slider."""
        self._wishes[name] = value
        self.send_wishes()

    def mark(self, time: float, label: str) -> bool:
        """Ask the sender to record an event mark at a time of the trial [s], as soon as possible; return
        whether it accepts marks.
        """
        layout = self.feed.layout
        takes = layout is not None and layout.commands is not None and MARK in layout.commands
        if self.commander is None or not takes:
            return False
        self._marks.append({"time": time, "label": label})
        self.send_wishes()
        return True

    def send_wishes(self) -> None:
        """Send waiting event marks and changed parameters of the device; sliders that are moved meanwhile are
        sent by the next call.
        """
        if self._marks and self.commander and self.commander.send(MARK, self._marks[0]):
            self._marks.popleft()
            self._asked = ""
        if self._wishes and self.commander and self.commander.send("set", self._wishes):
            self._asked, self._wishes = "", {}

    def forget(self) -> None:
        """Drop the event marks and parameters that wait to be sent, because the results are now those of
        another person or of a run that was started anew; say how many.
        """
        n = len(self._marks) + len(self._wishes)
        self._marks.clear()
        self._wishes.clear()
        if n:
            self._say(f"Marks or parameters that were not sent, because the results are of another run: {n}.")

    def show_answer(self, ok: bool, text: str) -> None:
        """Show the outcome of a command: whether it succeeded (ok), and the answer to it."""
        self.method = self._asked if ok and self._asked else self.method
        if self._learns and ok and not self.feed.reason:
            self.feed.reason = printable(text, SENTENCE_MOST)
        self._learns = False
        self._say(text if ok else f"The command was not executed: {text}")

    def close(self) -> None:
        """Close the connection, and leave the keys of the emergency stop to others."""
        self.stop_keys.set_on(False)
        if self.commander:
            self.commander.close()
