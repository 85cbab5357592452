"""Every fault of the table that is done to real processes, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.faults.fault import CannotTryError, Fault, FaultOutcome, faults_found
from benchmarks.faults.table import FAULTS
from rtsim.bench.figures import BenchFigure
from rtsim.bench.progress import BenchProgress
from rtsim.errors import ConfigError
from rtsim.live.processes.children import ChildFailedError


class FaultRuns(NamedTuple):
    """Outcomes of all faults.

    outcomes : by name; left_out : reasons why faults were not tried; wrong : descriptions of what is wrong
    """

    outcomes: dict[str, FaultOutcome]
    left_out: dict[str, str]
    wrong: dict[str, list[str]]

    def figures(self) -> list[BenchFigure]:
        """Return the numbers of frames without result or count, of tracebacks, and of failed rows."""
        outcomes = self.outcomes.values()
        n_silent = sum(abs(one.n_silent) for one in outcomes)
        return [
            BenchFigure("faults", float(len(self.outcomes)), ""),
            BenchFigure("frames_sent", float(sum(one.n_sent for one in outcomes)), "frames"),
            BenchFigure("silent_losses", float(n_silent), "frames", 0.0, "lower"),
            BenchFigure("tracebacks", float(sum(one.n_traceback for one in outcomes)), "", 0.0, "lower"),
            BenchFigure("rows_that_do_not_hold", float(len(self.wrong)), "", 0.0, "lower"),
            BenchFigure("left_out", float(len(self.left_out)), ""),
        ]  # fmt: skip


def chosen(only: str) -> list[Fault]:
    """Return the faults with this text in their names that are applied to real processes; ConfigError if
    there are none.
    """
    found = [fault for fault in FAULTS if fault.act is not None and only in fault.name]
    if not found:
        names = ", ".join(fault.name for fault in FAULTS if fault.act is not None)
        raise ConfigError(f"no fault has a name that contains {only!r}", where="--only", allowed=names)
    return found


def run(only: str, stop: threading.Event, tell: Callable[[str], None]) -> FaultRuns:
    """Try the faults until `stop` is set; tell : function called at once with what is wrong."""
    faults = chosen(only)
    runs = FaultRuns({}, {}, {})
    with BenchProgress("faults", len(faults)) as course:
        for fault in faults:
            if stop.is_set():
                break
            course.begin(fault.name)
            assert fault.act is not None
            try:
                outcome = fault.act()
            except CannotTryError as why:
                runs.left_out[fault.name] = str(why)
                continue
            except ChildFailedError as failure:
                runs.wrong[fault.name] = [str(failure)]
                tell(f"{fault.name}: {failure}")
                continue
            runs.outcomes[fault.name] = outcome
            if wrong := faults_found(fault, outcome):
                runs.wrong[fault.name] = wrong
                tell(f"{fault.name}: {'; '.join(wrong)}")
    return runs
