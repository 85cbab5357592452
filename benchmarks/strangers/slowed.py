"""A slower machine for one process: other processes of its priority use the rest of the processor to which
it is pinned.

Of n - 1 burners and the process the scheduler gives each the same share, so that a process that has always
something to do gets the n-th part, in slices of some milliseconds; one that sleeps more is served sooner. No
privilege is needed for it, on Linux. A process with two threads that have something to do at once gets a
little more than its part: Python's lock leaves little of that.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from rtsim.errors import ConfigError
from rtsim.live.processes.thread_priority import pinned, processors

BURN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


class ChosenProcessors(NamedTuple):
    """Processors that a benchmark uses; None = any.

    measured : of the process that is measured; others : of everybody else
    """

    measured: int | None
    others: int | None


@contextlib.contextmanager
def slowed(times: int) -> Iterator[ChosenProcessors]:
    """Within the `with` block, give a process pinned to `measured` 1/times of that processor.

    Raises ConfigError where the system pins nobody, or has no second processor for who measures.
    """
    if times == 1:
        yield ChosenProcessors(None, None)
        return
    found = processors()
    if len(found) < 2:
        raise ConfigError(
            "a slow machine is simulated by binding a process to one processor, and this machine has no "
            "second one",
            where="--slow", allowed="1", remedy="omit this option, or use Linux with two processors",
        )  # fmt: skip
    measured, others = found[-1], found[0]
    with contextlib.ExitStack() as stack:
        stack.enter_context(pinned(measured))
        for _ in range(times - 1):
            burner = subprocess.Popen([sys.executable, "-c", BURN])
            stack.callback(burner.wait)
            stack.callback(burner.kill)
        stack.enter_context(pinned(others))
        yield ChosenProcessors(measured, others)
