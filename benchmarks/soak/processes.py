"""Memory and processor time of processes, from Linux; on other systems they are unknown."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

KB_PER_MB = 1024.0


def memory_MB(pid: int) -> float:
    """Anonymous resident memory of a process [MB], which is what leaks: pages of files come and go with the
    system's. NaN where it is not known.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / KB_PER_MB
    return float("nan")


def processor_s(pid: int) -> float:
    """Return the processor time of a process up to now, without its children [s]; NaN if it is not known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
        )
        fields = after_name.split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return float("nan")


def machine_busy_s() -> float:
    """Processor time that all of the machine has spent since it started [s]; NaN where it is not known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        user, nice, system, _, _, irq, soft = map(int, words[:7])
        return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
    return float("nan")


def waited_s() -> float:
    """Return the time for which some process of the machine has waited for a processor, from the system's
    pressure statistics [s]; NaN if it has none.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path("/proc/pressure/cpu").read_text(encoding="ascii").splitlines()[0].split()
        return 1e-6 * int(words[-1].partition("=")[2])
    return float("nan")


class ProcessAccount:
    """Memory of some processes every second, and the load of the machine by all others.

    pids : process id by name
    """

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.times: list[float] = []
        self._memory: dict[str, list[float]] = {name: [] for name in pids}
        self._began = machine_busy_s(), self._ours_s(), waited_s()
        self._first = {name: processor_s(pid) for name, pid in pids.items()}
        self._last, self._ended = self._first, self._began

    def sample(self, time_s: float) -> None:
        """Note memory at a time [s]."""
        self.times.append(time_s)
        for name, pid in self.pids.items():
            self._memory[name].append(memory_MB(pid))
        self._last = {name: processor_s(pid) for name, pid in self.pids.items()}
        self._ended = machine_busy_s(), self._ours_s(), waited_s()

    def memory_from(self, name: str, start_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times (n,) [s] and memory (n,) [MB] of a process from a time on; nothing where it is not known."""
        times, memory = np.array(self.times), np.array(self._memory[name])
        kept = (times >= start_s) & np.isfinite(memory)
        return times[kept], memory[kept]

    def processor_percent(self, name: str) -> float:
        """Use of a core, over all samples [%]."""
        return 100.0 * (self._last[name] - self._first[name]) / self._span()

    def others_percent(self) -> float:
        """Return the processor use of all other processes meanwhile [% of a core], which shows how much the
        run was disturbed.
        """
        whole, ours, _ = self._spent()
        return 100.0 * (whole - ours) / self._span()

    def waiting_percent(self) -> float:
        """Return the fraction of the time in which some process waited for a processor [%], which shows how
        crowded the machine was.
        """
        return 100.0 * self._spent()[2] / self._span()

    def _spent(self) -> tuple[float, float, float]:
        whole, ours, waited = (end - start for start, end in zip(self._began, self._ended, strict=True))
        return whole, ours, waited

    def _span(self) -> float:
        return self.times[-1] - self.times[0] if len(self.times) > 1 else float("nan")

    def _ours_s(self) -> float:
        return float(np.nansum([processor_s(pid) for pid in (*self.pids.values(), os.getpid())]))
