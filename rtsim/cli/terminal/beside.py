"""The processes that accompany a run with a device (recorder, window, simulated device), checked during the
run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rtsim.cli.terminal.lines import tell
from rtsim.live.processes.children import LAST, Child, ChildFailedError

if TYPE_CHECKING:
    from streams.publisher import Publisher

RECORDER = "recorder"
RECORDER_S = 20.0
"""Time that a recorder may take to start, and to finish [s]."""
LOOK_S = 0.1


class Beside:
    """Starts processes that accompany a run, reports at once if one of them fails, and ends them with the
    run.

    A separate thread checks them, so that the loop never waits.

    publish : function also called with each message, for subscribers of the results
    failed : whether one of them has failed, so that the run counts as failed
    """

    def __init__(self, publish: Callable[[str], None]) -> None:
        self.failed = False
        self._publish = publish
        self._children: list[Child] = []
        self._told: set[str] = set()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._follow, name="beside", daemon=True)

    def __enter__(self) -> Beside:
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()
        self._look()
        for child in reversed(self._children):
            if child.name == RECORDER and not child.wait(RECORDER_S):  # it ends with the results
                self._fail(child, f"the {RECORDER} has not closed its file within {RECORDER_S:g} s", "")
            child.close()
            if child.name == RECORDER:
                self._look_at(child, "")

    def start(self, name: str, arguments: list[str]) -> Child:
        """Start one process of rtsim that accompanies the run, and check it until the run ends; name : name
        in messages.
        """
        child = Child(name, arguments)
        self._children.append(child)
        return child

    def record(self, publisher: Publisher, arguments: list[str]) -> None:
        """Start the recorder and wait until it is ready; ChildFailedError if it fails."""
        self._told.add(RECORDER)  # until it listens by the error alone, not by the thread as well
        recorder, due = self.start(RECORDER, arguments), time.monotonic() + RECORDER_S
        while not publisher.wait_for_subscriber(LOOK_S):
            failure = recorder.failure()
            if not failure and time.monotonic() > due:
                failure = f"the {RECORDER} did not begin to listen within {RECORDER_S:g} s"
            if failure:
                raise ChildFailedError(failure)
        self._told.discard(RECORDER)

    def _follow(self) -> None:
        while not self._over.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        for child in self._children:
            self._look_at(child, "the run goes on without it")

    def _look_at(self, child: Child, then: str) -> None:
        if child.name == RECORDER:  # what it did not receive, and of its file
            for words in child.take_words():
                if not words.startswith(LAST):  # its last, which is told as its failure
                    tell(words)
        failure = child.failure()
        if failure:
            last = failure.splitlines()[-1]
            own = last.startswith(f"the {child.name}")
            self._fail(child, last if own else f"the {child.name} has failed: {last}", then)

    def _fail(self, child: Child, words: str, then: str) -> None:
        if child.name in self._told:
            return
        self._told.add(child.name)
        self.failed = True
        words = f"{words}; {then}" if then else words
        tell(f"rtsim: {words}")
        self._publish(f"{words[0].upper()}{words[1:]}.")
