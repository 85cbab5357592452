"""A processor that does not sleep between the time steps of a loop with deadlines, where the system permits
it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rtsim.live.processes.thread_priority import pinned, processors, threads

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
BUSY = """
import os, sys
parent, cpu = map(int, sys.argv[1:])
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.sched_setaffinity(0, {cpu})
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""
"""What the companion process does: nothing, as the very last on its processor, as long as its parent lives,
which it looks up every few milliseconds."""


@contextmanager
def processor_awake(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, keep all threads of this process on one processor that does not sleep; yield
    whether the system permits this. Do nothing if it is not `wanted`.

    A processor that wakes up from a sleep takes tens of microseconds to do so, in a virtual machine more, and
    finds its caches empty. So a companion process keeps it busy, with the policy SCHED_IDLE: whatever else
    wants the processor interrupts it at once. It takes the power of one processor, so this is for threads
    with deadlines of a millisecond. To keep all processors awake would be worse: a virtual machine that uses
    all of the time that it may have is stopped by its host for milliseconds.

    The processor is the last one on which this thread may run; `pinned` around this block chooses another
    one. The threads that serve its sockets are kept there, too, as another processor would have to wake up
    for them. Nothing is done if a limit of processor time (of a control group, as of a container) would count
    the companion's.
    """
    allowed = processors()
    if not wanted or not allowed or not hasattr(os, "SCHED_IDLE") or has_quota():
        yield False
        return
    try:
        companion = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BUSY, str(os.getpid()), str(allowed[-1])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the loop
        )
    except OSError:
        yield False
        return
    try:
        with all_pinned(allowed[-1]) as granted:
            yield granted
    finally:
        companion.kill()
        companion.wait()


@contextmanager
def all_pinned(cpu: int) -> Iterator[bool]:
    """Within the `with` block, run the threads of this process, and those that they start, only on processor
    `cpu`; yield whether this was granted for the calling thread.
    """
    former = {}
    with pinned(cpu) as granted:
        for thread in threads() if granted else ():
            with suppress(OSError):  # a thread that has ended meanwhile
                former[thread] = os.sched_getaffinity(thread)
                os.sched_setaffinity(thread, {cpu})
        try:
            yield granted
        finally:
            for thread, processors_before in former.items():
                with suppress(OSError):
                    os.sched_setaffinity(thread, processors_before)


def has_quota() -> bool:
    """Return whether a control group of this process, or one above it, limits its processor time."""
    with suppress(OSError, ValueError):
        for line in OWN_CGROUP.read_text(encoding="utf-8").splitlines():
            _, controllers, own = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            root = CGROUPS / controllers  # of version 1; "" is the one root of version 2
            group = root / own.lstrip("/")
            if any(is_limited(folder) for folder in (group, *group.parents) if folder.is_relative_to(root)):
                return True
    return False


def is_limited(group: Path) -> bool:
    """Return whether the files of a control group, if it has any, limit its processor time."""
    for name in ("cpu.max", "cpu.cfs_quota_us"):
        with suppress(OSError):
            limit = (group / name).read_text(encoding="ascii").split()
            if limit and limit[0] not in ("max", "-1"):
                return True
    return False
