"""A stage of a run: a computation that is carried out for every frame, and reports its outcome.

The loop (rtsim/live/loop.py) passes each frame to the stages of a run in order, publishes their quantities,
and forwards commands; it does not know what a stage computes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from rtsim.quantity import Quantity
from streams.account import plain
from streams.messages import Session, Status
from streams.receiving.ring import ReceivedFrame

Args = Mapping[str, Any]
SAY_EVERY = 500
"""Number of frames after which a fault that lasts is reported again."""


class StageOutcome(NamedTuple):
    """Result of a stage for one frame, without its quantities.

    status : status bits
    iterations, residual : number of iterations and residual of the solver of the stage, if it has one
    told : whether the result of the frame is to be published
    failure : why the run cannot go on, in words; empty if it can
    """

    status: Status = Status.OK
    iterations: int = 0
    residual: float = math.nan
    told: bool = True
    failure: str = ""


FINE = StageOutcome()


class StageCommand(NamedTuple):
    """A command that a stage or an input accepts.

    answer : checks the arguments; returns whether they are accepted, and a sentence for the user; called from
      any thread
    apply : called between two frames; returns whether the descriptor of the results changes
    kind : commands of one kind replace each other, so that only the newest is carried out; "" = its own name
    told : whether a telemetry message reports the command at once
    takes : names of its arguments; a command with others is refused
    """

    answer: Callable[[Args], tuple[bool, str]]
    apply: Callable[[Args], bool]
    kind: str = ""
    told: bool = False
    takes: tuple[str, ...] = ()


class Stage:
    """Base of all stages of a run; a stage has to implement only `run` and `quantities`.

    Attributes
    ----------
    rehearses : whether a copy of the stage may repeat the last frame while the run waits for the next one,
        which keeps the processor's caches warm: it must have no side effects, and the stages that it needs
        must allow it as well
    orders : name of a command -> the functions that answer and execute it
    counters : numbers of faults by name, since the start of the run
    sentences : messages for the user, to be sent with the next telemetry
    n_frame : number of frames so far, for `count`
    n_awaited : number of results that the stage has taken so far from a background thread of its own
    awaited : in an exact replay, function that returns how many of these results the recorded run had taken
        by the present frame, so that the replay takes each at the same frame; None in a run
    """

    rehearses = False
    n_awaited = 0
    awaited: Callable[[], int] | None = None

    def __init__(self) -> None:
        self.orders: dict[str, StageCommand] = {}
        self.counters: Counter[str] = Counter()
        self.sentences: list[str] = []
        self.n_frame = 0
        self._tell_at: dict[str, int] = {}

    def warm(self) -> None:
        """Call everything that `run` can call, so that nothing is compiled later; then discard the state."""

    def reset(self) -> None:
        """Discard what was learned from all frames so far, and all counts."""
        for name in self.counters:
            self.counters[name] = 0
        self.sentences, self.n_frame, self._tell_at = [], 0, {}

    def begin(self, session: Session, anew: bool) -> None:
        """Begin an input session. anew : whether it is a new session; False = the same one continues after a
        change of settings, so that its history stays valid"""

    def follow(self, other: Self) -> bool:
        """Copy the settings that commands may have changed from another stage of the same kind.

        Returns whether the quantities that this stage publishes change by this.
        """
        return False

    @property
    def outdated(self) -> bool:
        """Whether the names or shapes of the published quantities have changed since `begin`, for example
        because other force plates are in use.
        """
        return False

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Process one frame before the next one is due. Bad data are reported in the result, never raised."""
        raise NotImplementedError

    def report(self) -> None:
        """Update the arrays of the quantities; called for the frames that are published."""

    def quantities(self) -> list[Quantity]:
        """Return the published quantities; called after each `begin`."""
        return []

    def meta(self) -> dict[str, Any]:
        """Return the stage's entries in the metadata of the descriptor, the first message of the result
        stream."""
        return {}

    def gauges(self) -> dict[str, float]:
        """Return measured quantities of the stage by name, such as delays, for the telemetry."""
        return {}

    def status_text(self) -> str:
        """Return the state of the stage in a few words, for the command `status`."""
        return ""

    def collect(self) -> tuple[Counter[str], list[str]]:
        """Return counters since the start of the run, and messages since the last call."""
        told, self.sentences = self.sentences, []
        return self.counters, told

    def count(self, kind: str, sentence: str) -> None:
        """Count a fault of the present frame in counters[kind]. Report the sentence the first time, and again
        after 500 frames or more if the fault is still there.
        """
        self.counters[kind] += 1
        if self.n_frame >= self._tell_at.get(kind, 0):
            self._tell_at[kind] = self.n_frame + SAY_EVERY
            self.sentences.append(plain(sentence))
