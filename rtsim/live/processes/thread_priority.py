"""Real-time priority for a thread with deadlines, if the system permits it, and a lower priority for
processes that only show results.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from streams.clock import now_ns

PRIORITY = 50
"""Priority in the middle of 1 to 99, as of the threads that serve interrupts."""
MOST_SHARE, LITTLE_SHARE = 0.8, 0.5
"""Parts of a processor: threads that need more than the first lose their priority, until they need less than
the second."""
SHORTEST_NS = 500_000_000
"""Shortest time over which the used fraction of a processor is measured [ns]."""
NICENESS = 10
"""Steps of niceness below ordinary processes; the process then gets a tenth of their processor time if there
is not enough for all."""


def may_have_priority(wanted: bool = True) -> bool:
    """Return whether the system grants real-time priority, which is tested by trying; False without a test if
    it is not `wanted`.
    """
    with with_priority(wanted) as granted:
        return granted


@contextmanager
def with_priority(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, give this thread, and threads that it starts, priority over all ordinary
    threads (SCHED_FIFO); yield whether that was granted. Do nothing if it is not `wanted`.

    Linux grants it to root, and to users with an rtprio limit.
    """
    if not wanted or not hasattr(os, "sched_setscheduler"):
        yield False
        return
    former = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *former)


class PrioritySharing:
    """Takes the priority from all threads of this process while they need most of a processor, so that other
    programs can run, and gives it back when they need little again.

    A stream that is faster than the estimator, or a flood of messages, would otherwise stop a window, a
    terminal or a recorder on the same machine.

    Attributes
    ----------
    lowered : threads that had priority and are without it at present
    """

    def __init__(self) -> None:
        self.lowered: list[int] = []
        self._cpu_ns, self._at_ns = time.process_time_ns(), now_ns()

    def look(self) -> list[str]:
        """Measure the processor time that this process used since the last measurement, if that is long
        enough ago, and lower or raise its priority by it. Return a sentence if the priority was lowered, else
        [].
        """
        cpu_ns, at_ns = time.process_time_ns(), now_ns()
        spent, passed = cpu_ns - self._cpu_ns, at_ns - self._at_ns
        if 0 <= passed < SHORTEST_NS:
            return []
        self._cpu_ns, self._at_ns = cpu_ns, at_ns
        return self.judge(spent / passed) if passed > 0 else []

    def judge(self, share: float) -> list[str]:
        """Lower the priority if the process needs most of a processor, raise it again if it needs little;
        return a sentence if it was lowered. share : processor time used per time passed [1]
        """
        if not self.lowered and share > MOST_SHARE:
            self.lowered = of_policy(threads(), os.SCHED_FIFO)
            set_all(self.lowered, os.SCHED_OTHER, 0)
            return [
                f"This program needed {100.0 * share:.0f} % of a processor in the last second; it has no "
                "priority over other programs until it needs less."
            ]
        if self.lowered and share < LITTLE_SHARE:
            set_all(self.lowered, os.SCHED_FIFO, PRIORITY)
            self.lowered = of_policy(self.lowered, os.SCHED_OTHER)  # the system may have refused
        return []


def threads() -> list[int]:
    """Return the numbers of the threads of this process; Linux only."""
    return [int(name) for name in os.listdir("/proc/self/task")]


def of_policy(threads: Sequence[int], policy: int) -> list[int]:
    """Return the threads that have a scheduling policy; threads that have ended meanwhile are left out."""
    found = []
    for thread in threads:
        with suppress(ProcessLookupError):
            if os.sched_getscheduler(thread) == policy:
                found.append(thread)
    return found


def set_all(threads: Sequence[int], policy: int, priority: int) -> None:
    """Give threads a scheduling policy and priority, except those that have ended meanwhile and those for
    which the system refuses it.
    """
    for thread in threads:
        with suppress(ProcessLookupError, PermissionError):
            os.sched_setscheduler(thread, policy, os.sched_param(priority))


@contextmanager
def below_others() -> Iterator[bool]:
    """Within the `with` block, give this thread, and threads that it starts, a lower priority than ordinary
    threads. Yield whether the system supports this.

    It is used for drawing a window or a page, which takes some 15 ms at a time. Without it, if all processors
    are busy, a loop that wakes up for a frame would wait until the time slice of the drawing thread is over,
    some 3 ms on Linux.
    """
    if not hasattr(os, "setpriority"):
        yield False
        return
    former = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, max(former, NICENESS))
    try:
        yield True
    finally:
        with suppress(PermissionError):  # only root may rise again; the process ends anyway
            os.setpriority(os.PRIO_PROCESS, 0, former)


def processors() -> tuple[int, ...]:
    """Return the processors that this process may be pinned to; empty if the system cannot pin processes."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


@contextmanager
def pinned(cpu: int | None) -> Iterator[bool]:
    """Within the `with` block, run this thread only on processor `cpu`, one of `processors`; yield whether
    that was granted.
    """
    if cpu is None or not hasattr(os, "sched_setaffinity"):
        yield False
        return
    former = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        with suppress(OSError):  # none of them may be allowed any more
            os.sched_setaffinity(0, former)
