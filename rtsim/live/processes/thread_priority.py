"""Real-time priority for a thread with deadlines, if the system permits it, and a lower priority for
processes that only show results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PRIORITY = 50
"""Priority in the middle of 1 to 99, as of the threads that serve interrupts."""
LATENCY_REQUEST = "/dev/cpu_dma_latency"
"""File of Linux by which a process limits the time that processors may take to wake up; the limit holds
until the file is closed.
"""
NO_LATENCY = bytes(4)
"""A limit of 0 us, as a 32-bit integer: idle processors keep polling and do not sleep."""
NICENESS = 10
"""Steps of niceness below ordinary processes: a tenth of their share where there is not enough for all."""


def may_have_priority(wanted: bool = True) -> bool:
    """Return whether priority is requested and granted by the system, which is tested by trying."""
    with with_priority(wanted) as granted:
        return granted


@contextmanager
def with_priority(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, give this thread priority over all ordinary threads (SCHED_FIFO) and keep
    idle processors from sleeping; yield whether the priority was granted.

    Linux grants the priority to root, and to users with an rtprio limit; processors stay awake for those who
    may write LATENCY_REQUEST, usually root.
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
        with processors_awake():
            yield True
    finally:
        os.sched_setscheduler(0, *former)


@contextmanager
def processors_awake() -> Iterator[bool]:
    """Within the `with` block, keep idle processors from sleeping; yield whether the system permits this.

    A processor that wakes up from a sleep takes tens of microseconds to do so, in a virtual machine more, and
    finds its caches empty. It takes more power to stay awake, so this is for threads with deadlines only.
    """
    try:
        request = os.open(LATENCY_REQUEST, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        yield os.write(request, NO_LATENCY) == len(NO_LATENCY)
    finally:
        os.close(request)


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
        os.sched_setaffinity(0, former)
