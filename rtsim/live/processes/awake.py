"""A processor that does not sleep between the time steps of a loop with deadlines, where the system permits
it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rtsim.live.processes.thread_priority import processors
from streams.readable import readable

WAKING = "/sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us"
"""File of Linux in which the time that a processor may take to wake up is limited [us]; "n/a" = it may take
none, so that it does not sleep, "0" = no limit."""
LOCKS = "/run/rtsim"
"""Folder with a file for each processor, locked while a run keeps it awake. The file contains the former
limit until it has been set again. The folder is closed to others, who could hold a lock for ever."""
FASTEST = "/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq"
START_S, END_S = 2.0, 1.0
"""Longest waits for the companion's answer and for its end [s]."""
COMPANION = """
import fcntl, os, signal, stat, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
waking, folder, *numbers = sys.argv[1:]
os.makedirs(folder, mode=0o700, exist_ok=True)
own = os.lstat(folder)
if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.geteuid() or own.st_mode & 0o077:
    sys.exit(1)
for number in numbers:
    path = waking.replace("{}", number)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(os.path.join(folder, f"awake-{number}"), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except BlockingIOError:
        os.close(lock)
else:
    sys.exit(1)

def limit(text):
    with open(path, "w") as file:
        file.write(text)

former = os.pread(lock, 64, 0).decode()  # of a companion that was killed
if not former:
    with open(path) as file:
        former = file.read(64).strip()
    os.pwrite(lock, former.encode(), 0)
try:
    limit("n/a")
    print(number, flush=True)
    sys.stdin.read()
finally:
    limit(former)
    os.ftruncate(lock, 0)
"""
"""Program of the companion process. It takes the first of these processors that no other run keeps awake,
limits its time to wake up, writes its number, waits for the end of its input, which comes however its parent
ends, and sets the former limit again."""


@contextmanager
def processor_awake(wanted: bool = True) -> Iterator[int | None]:
    """Within the `with` block, keep one of the processors that this thread may use from sleeping. Yield its
    number, or None if it is not `wanted` or not possible.

    A processor takes tens of microseconds to wake up from sleep, in a virtual machine more, and its caches
    are then empty. Staying awake takes more power, so it is meant for a loop with deadlines of a millisecond.
    The loop should be pinned to this processor; no other run keeps the same one awake. If there are several
    processors, one of them is always left to sleep: the host stops a virtual machine whose processors never
    rest for milliseconds. Linux permits it to those who may write WAKING and LOCKS, usually root.

    Linux keeps the limit of the wake-up time after the process that set it has ended. So a companion process
    restores the former limit, even if this process is killed; if both are killed, the next run restores it.
    """
    ranked = ranking(processors())
    if not (wanted and ranked and sys.executable and sys.platform == "linux"):
        yield None
        return
    candidates = [str(cpu) for cpu in ranked[: max(1, len(ranked) - 1)]]
    try:
        companion = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", COMPANION, WAKING, LOCKS, *candidates],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C in the terminal is for the loop
        )
    except OSError:
        yield None
        return
    try:
        answer = companion.stdout
        assert answer is not None
        said = answer.readline().strip() if readable([answer], START_S) else b""
        yield int(said) if said else None
    finally:
        with suppress(OSError, subprocess.TimeoutExpired):
            companion.communicate(timeout=END_S)


def ranking(allowed: Sequence[int]) -> list[int]:
    """Return the processors in the order of their highest clock rate, the fastest first, as some are made to
    save power. Of equal ones those with the higher numbers come first, as the system uses them less.
    """

    def rank(cpu: int) -> tuple[int, int]:
        with suppress(OSError, ValueError):
            return int(Path(FASTEST.format(cpu)).read_text(encoding="ascii")), cpu
        return 0, cpu

    return sorted(allowed, key=rank, reverse=True)
