"""A clock for tests that moves only by sleeping."""

from __future__ import annotations


class FakeTime:
    """A clock that moves only by sleeping and, a little, by being looked at.

    ns : what it shows [ns]
    """

    def __init__(self) -> None:
        self.ns = 1_000_000_000_000

    def now(self) -> int:
        self.ns += 100
        return self.ns

    def sleep(self, s: float) -> None:
        self.ns += round(s * 1e9)
