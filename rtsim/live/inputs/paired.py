"""Markers and forces, two streams combined to one input: a marker frame waits until a force sample with a
later time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rtsim.device.exchange import never
from rtsim.live.inputs.inputs import ApplyCommands, StreamInput, drained
from rtsim.live.inputs.turns import Turns
from rtsim.methods.plates.force_feed import ForceFeed
from streams.access.security import Security
from streams.clock import now_ns
from streams.messages import Session, time_rate
from streams.receiving.ring import ReceivedFrame
from streams.receiving.subscriber import Subscriber

SLOWEST = 0.05
"""If a recording is played at a fraction of its speed, frames may wait longer for their forces in proportion;
below this fraction the wait grows no further."""
SILENT_NS = 250_000_000
"""If forces have not come for this time, frames no longer wait for them until they come again [ns]."""
BACKLOG = 256


class PairedInput(StreamInput):
    """The frames of a marker stream, each delivered when the forces up to its time have arrived.

    Parameters
    ----------
    open_stream, open_forces : functions that open the subscribers
    feed : receiver of the force samples
    wait_ms : longest time after its receipt for which a frame waits for the first force sample at or after
        its time [ms]; longer for a recording that is played slowly

    Attributes
    ----------
    hurries : function that returns whether the torque of a device is to end; a frame then does not wait for
        its forces
    """

    def __init__(
        self,
        open_stream: Callable[[], Subscriber],
        open_forces: Callable[[], Subscriber],
        feed: ForceFeed,
        wait_ms: float,
        duration_s: float = 0.0,
    ) -> None:
        super().__init__(open_stream, duration_s)
        self._open_forces, self._feed, self._wait_ns = open_forces, feed, round(1e6 * wait_ms)
        self._plates, self._n_plates_away = Turns(self._turns.allowance, now_ns), 0
        self._lacking_ns = 0  # since when frames have lacked forces; 0 = they do not
        self._longest_ns = 0
        self._turned_to: Session | None = None
        self.hurries: Callable[[], bool] = never

    @classmethod
    def beside(
        cls,
        addresses: tuple[str, str],
        backlog: int,
        feed: ForceFeed,
        wait_ms: float,
        securities: tuple[Security | None, Security | None] = (None, None),
        duration_s: float = 0.0,
    ) -> PairedInput:
        """Build the input for a stream of markers and a stream of forces from their addresses, which may be
        equal.

        backlog : number of marker frames that may wait; beyond it the oldest are dropped
        feed : receiver of the force samples
        wait_ms : longest wait of a frame for the force sample after it [ms]
        securities : client keys for each of the two streams; the key for one server is not used for the other
        """
        markers, forces = addresses
        return cls(
            lambda: Subscriber(markers, ("markers",), backlog, securities[0]),
            lambda: Subscriber(forces, ("forces",), BACKLOG, securities[1]),
            feed, wait_ms, duration_s,
        )  # fmt: skip

    def __enter__(self) -> PairedInput:
        self.forces = self._open_forces()  # first, so that it is there when the player begins
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.forces.close()

    def wait(self, apply: ApplyCommands) -> ReceivedFrame | None:
        frame = super().wait(apply)
        if frame is not None:
            if self.journal is not None and frame.session is not self._turned_to:
                self.journal.turned(frame.session)
            self._turned_to = frame.session
            self._feed.turn_to(frame.session)
        if self._feed.paired:  # before, samples would not know their clock: they wait in the subscriber
            for _ in range(BACKLOG):  # a frame does not wait for a sender that never pauses
                message = self.forces.wait(0.0)
                if message is None:
                    break
                self._admit(message)
        if frame is not None:
            self._await(frame)
        return frame

    def counters(self) -> Mapping[str, int]:
        told = {f"forces_{name}": n for name, n in self.forces.counters.items() if n}
        if self._n_plates_away:
            told["forces_turned_away"] = self._n_plates_away
        return {**super().counters(), **told}

    def gauges(self) -> Mapping[str, float]:
        longest, self._longest_ns = self._longest_ns, 0
        return {**super().gauges(), "force_wait_ms": 1e-6 * longest}

    def _receiving_ns(self) -> int:
        return super()._receiving_ns() + self.forces.strangers_ns

    def sentences(self) -> list[str]:
        return [*super().sentences(), *(f"Forces: {said}" for said in drained(self.forces.events))]

    def _await(self, frame: ReceivedFrame) -> None:
        """Wait for a force sample at or after the time of a frame, unless the forces have ended or have been
        silent for long.
        """
        feed, begun = self._feed, now_ns()
        if feed.reaches(frame):
            return
        self._lacking_ns = self._lacking_ns or begun
        slower = 1.0 if self.alone else slowness(frame.session)  # torque on a person waits for nobody
        due = frame.t_received + round(self._wait_ns * slower)
        if begun - self._lacking_ns > SILENT_NS * slower:
            return
        now = begun
        while not (feed.reaches(frame) or now >= due or self.forces.ended or self.hurries()):
            message = self.forces.wait(min(self.wait_s, 1e-9 * (due - now)))
            if message is not None:
                self._admit(message)
            now = now_ns()
        self._longest_ns = max(self._longest_ns, now - begun)

    def _admit(self, message: ReceivedFrame) -> None:
        """Accept a message of the force stream, unless messages of other sessions have taken too much time;
        omitted messages are not waited for.
        """
        if not self._plates.grants(message):
            self._n_plates_away += 1
            self._said.say(
                "Other sessions of forces take too much time; some of their messages were left out."
            )
            return
        self._lacking_ns = 0
        begins = self._feed.session is not None and message.session != self._feed.session
        if self.journal is not None:
            self.journal.admitted(message)
        self._feed.admit(message)
        self._plates.begin_waiting()
        if begins:
            self._turns.pay()  # stages begin anew where plates change


def slowness(session: Session) -> float:
    """Return the factor by which a stream is played slower than recorded, as its sender states: 1 to 20."""
    faster = session.rate / time_rate(session) if session.rate > 0.0 else 1.0
    return 1.0 / min(1.0, max(SLOWEST, faster))
