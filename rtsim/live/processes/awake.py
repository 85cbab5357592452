"""A processor that does not sleep between the time steps of a loop with deadlines, where the system permits
it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rtsim.live.processes.thread_priority import pinned, processors, with_priority

WAKING = "/sys/devices/system/cpu/cpu{}/power/pm_qos_resume_latency_us"
"""File of Linux in which the time that a processor may take to wake up is limited [us]; "n/a" = it may take
none, so that it does not sleep, "0" = no limit."""
FASTEST = "/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq"
END_S = 1.0
"""Longest wait for the companion's end [s]."""
COMPANION = """
import fcntl, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
path = sys.argv[1]
lock = open(path)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    former = lock.read().strip()
except BlockingIOError:
    former = "0"
fcntl.flock(lock, fcntl.LOCK_SH)
with open(path, "w") as file:
    file.write("n/a")
print("awake", flush=True)
sys.stdin.read()
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit()
with open(path, "w") as file:
    file.write(former)
"""
"""Program of the companion process. It limits the time, waits for the end of its input, which comes however
its parent ends, and takes the limit back unless the companion of another run has it, too."""


@contextmanager
def urgent(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, give this thread priority and keep a processor from sleeping; yield whether
    the priority was granted. Do nothing if it is not `wanted`.
    """
    with processor_awake(wanted), with_priority(wanted) as granted:
        yield granted


@contextmanager
def on_processor_awake(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, keep this thread, and threads that it starts, on the processor that is kept
    from sleeping; yield whether the system permits both. Do nothing if it is not `wanted`.

    It is for the loop alone. Threads that read sockets, hear an emergency stop or are the device must not
    depend on a processor that a loop may need for itself.
    """
    with processor_awake(wanted) as awake, pinned(best_of(processors()) if awake else None) as granted:
        yield granted


@contextmanager
def processor_awake(wanted: bool = True) -> Iterator[bool]:
    """Within the `with` block, keep one processor, `best_of` those that this thread may use, from sleeping;
    yield whether the system permits this. Do nothing if it is not `wanted`.

    A processor that wakes up from a sleep takes tens of microseconds to do so, in a virtual machine more, and
    finds its caches empty. It takes more power to stay awake, so this is for threads with deadlines of a
    millisecond, and for one processor: a virtual machine of which no processor rests is stopped by its host
    for milliseconds. Linux permits it to those, usually root, who may write the processor's limit of the
    wake-up latency in /sys. The limit outlasts the process that sets it, so a companion process removes it at
    the end, also if this process is killed.
    """
    allowed = processors()
    if not (wanted and allowed and sys.executable and sys.platform == "linux"):
        yield False
        return
    with ExitStack() as stack:
        try:
            companion = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", COMPANION, WAKING.format(best_of(allowed))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C in the terminal is for the loop
            )
        except OSError:
            yield False
            return
        stack.callback(_end, companion)
        assert companion.stdout is not None
        yield companion.stdout.readline() == b"awake\n"


def _end(companion: subprocess.Popen[bytes]) -> None:
    """Let the companion take the limit back, and wait for that."""
    with suppress(OSError, subprocess.TimeoutExpired):
        companion.communicate(timeout=END_S)


def best_of(allowed: Sequence[int]) -> int:
    """Return the last of those processors that can be fastest, as some are made to save power."""

    def rank(cpu: int) -> tuple[int, int]:
        with suppress(OSError, ValueError):
            return int(Path(FASTEST.format(cpu)).read_text(encoding="ascii")), cpu
        return 0, cpu

    return max(allowed, key=rank)
