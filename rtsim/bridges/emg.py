"""Electromyograms of Lab Streaming Layer as a result stream: their envelopes, to be shown and recorded.

The envelope is published like results, so that the monitor draws it and `rtsim record` stores it, with
stamps on the same clock.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rtsim.errors import ConfigError
from rtsim.methods.muscles.emg_envelope import EmgEnvelope
from streams.account import plain
from streams.capture.lsl.inlet import LslInlet, LslSample
from streams.capture.lsl.library import lsl
from streams.capture.lsl.sender_clock import SenderClock
from streams.capture.records import CaptureError
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import Curves, FieldSpec, Result, Session, new_session_id
from streams.publisher import Publisher

ADDRESS = "tcp://127.0.0.1:5565"
FIELD = "emg_envelope"
SHOWN_HZ = 100.0
"""Envelopes of 6 Hz need no more frames than this."""
FIND_S = 2.0
LOOK_S = 0.02
AGAIN_S = 0.5
MOST_CHANNELS = 256
LONGEST_LABEL, LONGEST_UNIT = 128, 32


class EmgRelay:
    """Relays one stream of electromyograms of Lab Streaming Layer to a publisher of results, as envelopes.

    name : name of the stream, or its source_id
    rate : samples per second if the stream does not state it [Hz], 0 = the stream states it
    say : function called with messages for the user
    """

    def __init__(self, name: str, publisher: Publisher, rate: float, say: Callable[[str], None]) -> None:
        if "'" in name:
            raise ConfigError(
                f"the stream name {name!r} contains a single quotation mark", where="NAME",
                allowed="the name of a stream of electromyograms, without single quotation marks",
            )  # fmt: skip
        self._name, self._publisher, self._rate, self._say = name, publisher, rate, say
        self._session: Session | None = None
        self._layout: FieldLayout | None = None
        self._seq = 0
        self._start_ns = 0
        self.n_sample = 0

    def run(self, stop: threading.Event) -> None:
        """Relay until `stop` is set; if the stream is lost, it is searched for again.

        Raises CaptureError if pylsl is missing, ConfigError for a stream that is not an electromyogram.
        """
        told = ""
        while not stop.is_set():
            try:
                self._follow(stop)
            except CaptureError as fault:
                if fault.final:
                    raise
                if str(fault) != told:
                    told = str(fault)
                    self._say(f"{fault}; trying again")
                stop.wait(AGAIN_S)
            self._publisher.service()
        self._publisher.end("the relay was stopped")

    def _follow(self, stop: threading.Event) -> None:
        """Relay one stream until it disappears."""
        predicate = f"name='{self._name}' or source_id='{self._name}'"
        found = lsl().resolve_bypred(predicate, 1, FIND_S)
        if not found:
            raise CaptureError("unreachable", f"no stream {self._name!r} is found within {FIND_S:.0f} s")
        inlet = LslInlet(found[0])
        try:
            rate = inlet.rate or self._rate
            if not rate:
                raise ConfigError(
                    f"the stream {self._name!r} does not state its rate", where="--rate", remedy="give it"
                )
            if len(inlet.channels) > MOST_CHANNELS:
                raise ConfigError(f"{len(inlet.channels)} channels", allowed=f"up to {MOST_CHANNELS}")
            envelope = EmgEnvelope(rate, len(inlet.channels))
            stride = max(1, round(rate / SHOWN_HZ))
            self._begin(inlet, envelope, rate / stride)
            self._relay(inlet, envelope, stride, stop)
        finally:
            inlet.close()

    def _relay(self, inlet: LslInlet, envelope: EmgEnvelope, stride: int, stop: threading.Event) -> None:
        n_left = stride
        while not stop.is_set():
            samples = inlet.pull(LOOK_S)
            for notice in inlet.notices():
                self._say(notice)
            if samples:
                rows = envelope(np.stack([sample.values for sample in samples]))
                for sample, row in zip(samples, rows, strict=True):
                    self.n_sample += 1
                    n_left -= 1
                    if n_left == 0:
                        n_left = stride
                        self._send(inlet.clock, sample, row)
            self._publisher.service()

    def _begin(self, inlet: LslInlet, envelope: EmgEnvelope, rate: float) -> None:
        """Begin a session for the stream of an inlet, unless the same stream has reappeared."""
        labels = told_apart([channel.label for channel in inlet.channels])
        unit, unclear = shared_unit([channel.unit for channel in inlet.channels])
        former = self._session
        of_former = (former.rate, former.fields[0].labels, former.fields[0].unit) if former else None
        if of_former == (rate, labels, unit):
            self._say(f"stream {inlet.words} is available again")
            return
        spec = FieldSpec(
            name=FIELD, shape=(len(labels),), unit=unit, labels=labels,
            curves=Curves("EMG", "envelope", 1, 0.0, True),
            meaning="electromyogram: high-passed, rectified, low-passed; NaN until the filters have settled",
        )  # fmt: skip
        meta: dict[str, Any] = {"delay": {FIELD: envelope.delay_s}, "source": f"lsl://{self._name}"}
        self._session = Session(
            session=new_session_id(),
            stream="result",
            t_start=now_ns(),
            rate=rate,
            fields=(spec,),
            meta=meta,
        )
        self._layout = FieldLayout(self._session)
        self._seq, self._start_ns = 0, 0
        self._publisher.announce(self._session)
        self._say(f"stream {inlet.words}: {len(labels)} channels, envelopes on {self._publisher.address}")
        if unclear:
            self._say(f"stream {inlet.words}: {unclear}, so its envelopes have no unit")

    def _send(self, clock: SenderClock, sample: LslSample, row: np.ndarray) -> None:
        assert self._session is not None
        assert self._layout is not None
        captured_ns = sample.arrived_ns
        if sample.stamp_ns is not None:
            captured_ns = min(clock.local_ns(sample.stamp_ns), sample.arrived_ns)
        if not self._seq:
            self._start_ns = captured_ns
        solved_ns = now_ns()
        self._publisher.send(
            Result(
                session=self._session.session, seq=self._seq, t_capture=max(captured_ns, 0),
                time=1e-9 * (captured_ns - self._start_ns), t_received=sample.arrived_ns, t_solved=solved_ns,
                t_published=solved_ns, status=0, iterations=0, residual=math.nan,
                data=self._layout.pack({FIELD: row}),
            )
        )  # fmt: skip
        self._seq += 1


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Return a label for each channel: its name, with the channel's number if it has none or shares it."""
    plain_names = [plain(name, LONGEST_LABEL) for name in names]
    numbered = (f"channel {k + 1}" for k in range(len(names)))
    return tuple(
        (name if plain_names.count(name) == 1 else f"{name} ({number})") if name else number
        for name, number in zip(plain_names, numbered, strict=True)
    )


def shared_unit(stated: Sequence[str]) -> tuple[str, str]:
    """Return the unit that all channels state, and ""; or, if there is none, "" and the reason in words."""
    units = {plain(unit.strip(), LONGEST_UNIT) for unit in stated}
    if units == {""}:
        return "", "its channels state no unit"
    if len(units) > 1:
        told = ", ".join(unit or "none" for unit in sorted(units))
        return "", f"its channels are in different units ({told})"
    return units.pop(), ""
