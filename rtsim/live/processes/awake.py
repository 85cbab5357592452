"""A processor that does not sleep between the time steps of a loop with deadlines, where the system permits
it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rtsim.live.processes.thread_priority import pinned, processors

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
FASTEST = "/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq"
END_S = 1.0
"""Longest wait for the end of the companion [s]; it needs its processor to end, which others may hold."""
BUSY = """
import os, sys
parent, cpu = map(int, sys.argv[1:])
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.sched_setaffinity(0, {cpu})
while os.getppid() == parent:
    for _ in range(100_000):
        pass
"""
"""What the companion process does: nothing, after all others on its processor, as long as its parent lives,
which it looks up every few milliseconds."""


@contextmanager
def processor_awake(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, keep this thread, and threads that it starts, on one processor that does not
    sleep; yield whether that was tried and not refused. Do nothing if it is not `wanted`.

    A processor that wakes up from a sleep takes tens of microseconds to do so, in a virtual machine more, and
    finds its caches empty. So a companion process keeps it busy, with the policy SCHED_IDLE: whatever else of
    this session wants the processor goes before it. It takes the power of one processor, so this is for
    threads with deadlines of a millisecond. To keep all processors awake would be worse: a virtual machine
    that uses all of the time that it may have is stopped by its host for milliseconds.

    Other threads go where they like: those that read sockets or wait for an emergency stop must not depend on
    a loop that may need all of its processor. Nothing is done if a limit of processor time (of a control
    group, as of a container) would count the companion's.
    """
    allowed = processors()
    if not (wanted and allowed and sys.executable and hasattr(os, "SCHED_IDLE")) or has_quota():
        yield False
        return
    cpu = best_of(allowed)
    try:
        companion = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BUSY, str(os.getpid()), str(cpu)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C in the terminal is for the loop; a session of its own would have a share of its own, too
            process_group=0,
        )
    except OSError:
        yield False
        return
    try:
        with pinned(cpu) as granted:
            yield granted
    finally:
        companion.kill()
        with suppress(subprocess.TimeoutExpired):
            companion.wait(END_S)


def best_of(allowed: Sequence[int]) -> int:
    """Return the last of those processors that can be fastest, as some are made to save power."""

    def rank(cpu: int) -> tuple[int, int]:
        with suppress(OSError, ValueError):
            return int(Path(FASTEST.format(cpu)).read_text(encoding="ascii")), cpu
        return 0, cpu

    return max(allowed, key=rank)


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
