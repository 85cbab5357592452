"""Memory of this process while it runs: a gauge, and a message if it grows steadily."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

STATM = "/proc/{}/statm"
SETTLE_S = 30.0
"""Time after the start in which more memory does not count as growth [s]."""
GROWN_MB = 256.0
"""Growth of memory that is reported; it is more than any stage of rtsim needs after the start [MB]."""


class ResidentMemory:
    """Resident memory of a process on Linux, by default this one; the file in /proc stays open, so that
    reading takes only microseconds.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open(STATM.format(pid or "self"), os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        self._page = os.sysconf("SC_PAGE_SIZE") if self._file >= 0 else 0

    def __call__(self) -> float:
        """Return the memory of the process [MB]; NaN where it is not known."""
        if self._file < 0:
            return float("nan")
        return 1e-6 * self._page * int(os.pread(self._file, 128, 0).split()[1])

    def __del__(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class MemoryGrowth:
    """Watches the memory of this process for steady growth, for example by a stage that stores too much.

    read : returns the resident memory [MB]
    """

    def __init__(self, read: Callable[[], float] | None = None) -> None:
        self._read = read or ResidentMemory()
        self._before_MB, self._since_s = float("nan"), float("nan")

    def look(self, time_s: float) -> tuple[dict[str, float], list[str]]:
        """Read the memory of this process; return it as a gauge, and a message if it has grown by GROWN_MB or
        more since the start or the last message. Both are empty if the system does not report the memory.

        time_s : time since the start [s]
        """
        now_MB = self._read()
        if not now_MB > 0.0:
            return {}, []
        gauges = {"memory_MB": now_MB}
        if time_s < SETTLE_S or not self._before_MB > 0.0:
            self._before_MB, self._since_s = now_MB, time_s
            return gauges, []
        if now_MB < self._before_MB + GROWN_MB:
            return gauges, []
        said = (
            f"Memory of this process has grown from {self._before_MB:.0f} to {now_MB:.0f} MB within "
            f"{time_s - self._since_s:.0f} s: a stage of another package might keep its input data."
        )
        self._before_MB, self._since_s = now_MB, time_s
        return gauges, [said]
