"""Benchmark of `rtsim study` by the weight study of Sancisi et al. (2017), section 3.2: 256 runs over one
gait cycle of the method `minimised`, which lets the ligaments of the knee deviate from mean lengths as little
as possible.

The weights of four ligaments take the values 1, 1e2, 1e3 and 1e4 in every combination, on the synthetic
walker; the paper reports 21 minutes. Two processes and one process are timed alternately, LAPS times, and the
results are medians over the repetitions, as the speed of a machine may change within seconds. All times are
wall times. The results are:

seconds : time of the study on two processes, from their start to the table
batch_seconds : the same on a single process
scaling.2 : ratio of rows per second, two processes to one, from the moment when every process has delivered
    rows to the last row
scaling.2.first_row : the same ratio over the time from the first row to the table, at the beginning of which
    the second process still starts
overhead_ms_per_row : time per row in which two processes do not solve cases, from the first row to the table
in_place_ms : time of one case, with its weights replaced in the existing model
built_ms : time of one case, with model, person and stages built anew
equal : whether all tables agree byte for byte
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rtsim.bench.figures import BenchFigure, say
from rtsim.live.processes.gc_control import gc_paused
from rtsim.studies.drive import StudyDrive
from rtsim.studies.executors import StudyWorkers, in_processes, in_this_process
from rtsim.studies.plan import StudyPlan, plan_of
from rtsim.studies.solving import SolvedCase, solve_case
from rtsim.studies.store import StudyStore
from rtsim.studies.table import NPZ, write_table

SECONDS, SCALING, OVERHEAD_MS = 10.0, 1.8, 2.0
N_BUILT = 8
LAPS = 3
LIGAMENTS = ("ACL", "PCL", "MCL", "LCL")
STUDY = """
# ranges of knee adduction and anterior displacement over one gait cycle
name = "weights_of_ligaments"
[analyse.run]
source = "walker"
side = "right"
method = "minimised"
[input]
end_s = 1.1
[[results]]
name = "adduction"
column = "joint_angles.knee_adduction"
take = "range"
[[results]]
name = "anterior"
column = "knee_displacements.anterior"
take = "range"
"""
PARAMETER = """
# weight [1/m^2] with which the solution method `minimised` penalises changes of length of the ligament {0}
[[parameters]]
name = "{0}"
key = "model.methods.minimised.soft.{0}"
values = [1.0, 1e2, 1e3, 1e4]
"""


class WatchedExecutor(Executor):
    """An executor that records which process delivered how many rows, and when.

    came : (time [s], process, rows) of each delivery
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.came: list[tuple[float, int, int]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to the wrapped executor and record its result."""
        future: Future[Any] = Future()

        def hand_over(done: Future[Any]) -> None:
            try:
                process, rows = done.result()
            except BaseException as error:
                future.set_exception(error)
                return
            self.came.append((perf_counter(), process, len(rows)))
            future.set_result(rows)

        self.executor.submit(with_process, fn, *args, **kwargs).add_done_callback(hand_over)
        return future

    def rate(self) -> float:
        """Return the rows per second from the moment when all processes have delivered some rows to the last
        row.
        """
        first = {process: at for at, process, _ in reversed(self.came)}
        begun, ended = max(first.values()), self.came[-1][0]
        n = sum(n for at, _, n in self.came if at > begun)
        return n / (ended - begun) if ended > begun else math.nan


def with_process(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[int, Any]:
    """Call the function; return the id of this process and the function's result."""
    return os.getpid(), fn(*args, **kwargs)


class TimedStudy(NamedTuple):
    """A solved study with its times: total time [s], time from the first row to the table [s], rows per
    second while all processes work, number of rows, and the table.
    """

    seconds: float
    after_first: float
    rate: float
    rows: list[SolvedCase]
    table: bytes

    def overhead_ms(self) -> float:
        """Return the time per row in which two processes do not solve cases [ms].

        Each process has the time `after_first` from the first row to the table. The result is twice this
        time, minus the solving times of all rows but the first, divided by the number of rows.
        """
        spent = sum(row.seconds for row in self.rows[1:])
        return 1e3 * (2.0 * self.after_first - spent) / len(self.rows)


def middle(values: list[float]) -> float:
    """Return the median of the values."""
    return float(np.median(values))


def run() -> list[BenchFigure]:
    """Solve the study on one process and on two, and return the benchmark results."""
    plan = plan_of(STUDY + "".join(map(PARAMETER.format, LIGAMENTS)), ".", "bench study")
    solve_case(plan, 0)  # kernels are compiled and read
    say("study: solving all cases in one process")
    with gc_paused():
        batch = timed(plan, in_this_process())
    laps = []
    for lap in range(LAPS):
        say(f"study: solving all cases by two processes, then by one; repetition {lap + 1} of {LAPS}")
        laps.append((timed(plan, in_processes(2)), timed(plan, in_processes(1))))
    say("study: timing cases for each of which the model is built anew")
    built = built_seconds(plan)
    n = len(batch.rows)
    in_place = float(np.median([row.seconds for row in batch.rows]))
    failed = sum(row.status != "ok" for two, _ in laps for row in two.rows)
    equal = all(batch.table == two.table == one.table for two, one in laps)
    return [
        BenchFigure("rows", float(n), "1"),
        BenchFigure("failed", float(failed), "1", 0.0, "lower"),
        BenchFigure("seconds", middle([two.seconds for two, _ in laps]), "s", SECONDS, "lower"),
        BenchFigure("seconds.1", middle([one.seconds for _, one in laps]), "s"),
        BenchFigure("scaling.2", middle([two.rate / one.rate for two, one in laps]), "1", SCALING, "higher"),
        BenchFigure("scaling.2.first_row", middle([b.after_first / a.after_first for a, b in laps]), "1"),
        BenchFigure(
            "overhead_ms_per_row", middle([two.overhead_ms() for two, _ in laps]), "ms", OVERHEAD_MS, "lower"
        ),
        BenchFigure("batch_seconds", batch.seconds, "s"),
        BenchFigure("in_place_ms", 1e3 * in_place, "ms"),
        BenchFigure("built_ms", 1e3 * built, "ms"),
        BenchFigure("equal", float(equal), "1", 1.0, "higher"),
    ]


def timed(plan: StudyPlan, workers: StudyWorkers) -> TimedStudy:
    """Solve the study once on the given workers (processes), in a temporary folder, and return its times."""
    rows: list[SolvedCase] = []
    first: list[float] = []

    def take(row: SolvedCase) -> None:
        if not rows:
            first.append(perf_counter())
        rows.append(row)

    watched: list[WatchedExecutor] = []

    def start() -> Executor:
        watched.append(WatchedExecutor(workers.start()))
        return watched[-1]

    seen = workers._replace(
        start=start, stop=lambda executor: workers.stop(watched[-1].executor), n_ended=lambda executor: 0
    )
    with tempfile.TemporaryDirectory(prefix="rtsim-bench-") as folder:
        store = StudyStore(Path(folder) / "study", plan)
        store.make()
        begun = perf_counter()
        StudyDrive(plan, store, seen, range(len(plan.cases)), "1-of-1", take).run()
        write_table(store)
        ended = perf_counter()
        table = (store.folder / NPZ).read_bytes()
    return TimedStudy(ended - begun, ended - first[0], watched[-1].rate(), rows, table)


def built_seconds(plan: StudyPlan) -> float:
    """Return the median time of a case of the study whose model, person and stages are built anew [s]."""
    # with noise no two cases share their input; so little of it changes nothing that is timed
    plan = plan_of(plan.text.replace("end_s", "noise_mm = 1e-6\nend_s"), plan.folder, "bench study")
    with gc_paused():
        return float(np.median([solve_case(plan, number).seconds for number in range(N_BUILT)]))
