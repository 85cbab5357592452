"""Python imports this at its start where the folder is on its path: a clock leaps at a signal.

LEAPING_CLOCK : which, `perf_counter` or `time`; LEAP_BY_S : how far, as SIGUSR2 comes.
"""

import os
import signal
import time


def leaping(name: str, by_s: float) -> None:
    """Exchange the clock and its sibling in nanoseconds."""
    seconds, nanoseconds = getattr(time, name), getattr(time, f"{name}_ns")
    leapt = [0.0, 0]

    def leap(number: int, frame: object) -> None:
        leapt[:] = by_s, round(1e9 * by_s)

    setattr(time, name, lambda: seconds() + leapt[0])
    setattr(time, f"{name}_ns", lambda: nanoseconds() + leapt[1])
    signal.signal(signal.SIGUSR2, leap)


if "LEAPING_CLOCK" in os.environ:
    leaping(os.environ["LEAPING_CLOCK"], float(os.environ["LEAP_BY_S"]))
