"""Streams of Lab Streaming Layer of several computers, whose clocks differ: a stand-in for pylsl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from streams.capture.lsl import connection, inlet
from streams.clock import now_ns


class _Node:
    """A description with these channels, each a map from key to text."""

    def __init__(self, channels: Sequence[dict[str, str]], place: int = 0) -> None:
        self._channels, self._place = channels, place

    def child(self, _name: str) -> _Node:
        return self

    def next_sibling(self, _name: str) -> _Node:
        return _Node(self._channels, self._place + 1)

    def empty(self) -> bool:
        return self._place >= len(self._channels)

    def child_value(self, key: str) -> str:
        return "" if self.empty() else self._channels[self._place].get(key, "")


@dataclass
class FakeStream:
    """A stream of a fake sender, as a search finds it.

    sent : samples (values, stamp [s]) that it has sent and nobody has read; next_sample : makes one when none
        is left, or None
    ahead_s : how far liblsl's clock of its computer is ahead of ours [s]; None = it answers no comparison
    """

    label: str
    labels: Sequence[str]
    host: str = "A"
    rate: float = 0.0
    ahead_s: float | None = 0.0
    sent: list[tuple[list[float], float]] = field(default_factory=list)
    next_sample: Callable[[], tuple[list[float], float] | None] = lambda: None

    def name(self) -> str:
        return self.label

    def hostname(self) -> str:
        return self.host

    uid = source_id = name

    def channel_count(self) -> int:
        return len(self.labels)

    def channel_format(self) -> int:
        return 1

    def nominal_srate(self) -> float:
        return self.rate

    def created_at(self) -> float:
        return 0.0

    def desc(self) -> _Node:
        return _Node([{"label": label} for label in self.labels])


class _Inlet:
    def __init__(self, stream: FakeStream, *_options: object) -> None:
        self._stream = stream

    def info(self, _timeout_s: float) -> FakeStream:
        return self._stream

    def open_stream(self, *_: object) -> None:
        """It is open, and stays so."""

    close_stream = open_stream

    def time_correction(self, _timeout_s: float) -> float:
        if self._stream.ahead_s is None:
            raise RuntimeError("no answer")
        return -self._stream.ahead_s

    def pull_sample(self, _timeout_s: float) -> tuple[list[float] | None, float | None]:
        if not self._stream.sent and (made := self._stream.next_sample()) is not None:
            self._stream.sent.append(made)
        return self._stream.sent.pop(0) if self._stream.sent else (None, None)

    def pull_chunk(self, _timeout_s: float, most: int) -> tuple[list[list[float]], list[float]]:
        taken = self._stream.sent[:most]
        del self._stream.sent[:most]
        return [values for values, _ in taken], [stamp for _, stamp in taken]


class FakeLsl:
    """Stand-in for the module pylsl, which finds these streams; its clock is ours [s]."""

    cf_string = 3
    StreamInlet = _Inlet

    def __init__(self, *streams: FakeStream) -> None:
        self._streams = streams

    def local_clock(self) -> float:
        return 1e-9 * now_ns()

    def resolve_bypred(self, predicate: str, *_: object) -> list[FakeStream]:
        return [stream for stream in self._streams if f"'{stream.label}'" in predicate]

    def resolve_streams(self, _timeout_s: float) -> list[FakeStream]:
        return list(self._streams)


def put_on_network(monkeypatch: pytest.MonkeyPatch, *streams: FakeStream) -> None:
    """Put fake streams in the place of those on the network, until the test ends."""
    library = FakeLsl(*streams)
    for module in (inlet, connection):
        monkeypatch.setattr(module, "lsl", lambda: library)
