"""The loop of a study, which sends cases to workers (processes that solve them), receives one row of results
for each, and writes these to disk.

A case whose worker ends is sent out again. After three such failures it is sent out alone, and after three
more failures it is lost: its row states this reason.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, wait
from contextlib import suppress
from pathlib import Path
from time import monotonic

from rtsim.errors import ConfigError, RtsimError
from rtsim.studies.executors import StudyWorkers
from rtsim.studies.plan import StudyPlan
from rtsim.studies.solving import LOST, SolvedCase, StudyOrder, failed_case, solve_cases
from rtsim.studies.store import StudyStore

POLL_S = 0.1
CHUNK_S, MOST_CHUNK = 0.25, 64
"""Cases are sent to a worker in chunks that take about this time [s] and have at most this many cases."""
AHEAD = 2
"""Number of chunks of cases that each worker has at a time."""
TOGETHER, ALONE = 3, 3
"""Number of times that a case is sent out together with others, and then alone, while its workers end."""
MOST_BREAKS = 8
"""Number of times that workers may end before any case is solved; then the study ends with an error."""
UNNOTICED_S = 5.0
"""Time after the end of a worker after which its executor is taken not to have noticed the end [s]."""
FIRST_FLUSH_S, LAST_FLUSH_S = 1.0, 30.0
LOST_REASON = "the worker process ended each time this case was solved (out of memory, or killed)"


class WorkerUnnoticedError(RtsimError):
    """Raised if a worker process has ended unnoticed by its executor, which would wait for its result for
    ever.
    """


def shard_of(n_case: int, k: int, n: int) -> range:
    """Return the numbers of the cases in shard k of n, the k-th of n parts of a study (k = 1 to n): every
    n-th case.
    """
    return range(k - 1, n_case, n)


class StudyDrive:
    """Solves those cases of a study, or of a shard (part) of it, that are not solved yet.

    Parameters
    ----------
    plan, store : the study, and the folder for its rows; workers : executor of the cases
    cases : numbers of the cases to solve; shard : name of the shard for file names
    told : function called with the row of results of each case, when it is received

    Attributes
    ----------
    n_done : number of received rows; n_break : number of times that workers ended
    """

    def __init__(
        self, plan: StudyPlan, store: StudyStore, workers: StudyWorkers, cases: Sequence[int], shard: str,
        told: Callable[[SolvedCase], None] = lambda row: None,
    ) -> None:  # fmt: skip
        self._plan, self._store, self._workers, self._shard, self._told = plan, store, workers, shard, told
        self._order = StudyOrder(plan.text, plan.folder, plan.digest)
        self._waiting, self._alone = deque(cases), deque[int]()
        self._out: dict[Future[list[SolvedCase]], list[int]] = {}
        self._ended: Counter[int] = Counter()
        self._unwritten: list[SolvedCase] = []
        self._parts: list[Path] = []
        self._seconds = 0.0
        self._flush_s, self._flushed = FIRST_FLUSH_S, monotonic()
        self._submitting = self._stopped = False
        self._ended_s = 0.0
        self.n_done = self.n_break = 0

    def stop(self, number: int = 0) -> None:
        """Make `run` stop after storing all finished rows. If cases are solved in this process and not by
        workers, KeyboardInterrupt is raised, which ends the present case.

        number : number of the signal, if this is called as a signal handler; not used
        """
        self._stopped = True
        if self._workers.here and self._submitting:
            raise KeyboardInterrupt

    def run(self) -> bool:
        """Solve all cases; return whether they all are done. Finished cases are on the disk however this
        ends.
        """
        executor = self._workers.start()
        lost: tuple[type[BaseException], ...] = (*self._workers.lost, WorkerUnnoticedError)
        try:
            while (self._waiting or self._alone or self._out) and not self._stopped:
                try:
                    self._give_out(executor)
                    self._take_in()
                    self._check_workers(executor)
                except lost:
                    self._workers.stop(executor)
                    self._worker_ended()
                    executor = self._workers.start()
                self._flush()
        except KeyboardInterrupt:
            self._stopped = True
        finally:
            complete = not (self._waiting or self._alone or self._out)
            try:
                with suppress(*self._workers.lost):
                    self._take_finished()
            finally:
                self._workers.stop(executor)
                self._flush(now=True)
        self._store.put_together(self._parts, self._shard)
        return complete

    def _give_out(self, executor: Executor) -> None:
        """Send cases to all workers that have nothing to do."""
        most = 1 if self._workers.here else AHEAD * self._workers.n
        first = not self.n_done
        while self._waiting and len(self._out) < most and not self._stopped:
            chunk = [self._waiting.popleft() for _ in range(self._chunk())]
            self._submit(executor, chunk, first)
        if self._alone and not self._out and not self._waiting:
            self._submit(executor, [self._alone.popleft()], first)

    def _submit(self, executor: Executor, chunk: list[int], first: bool) -> None:
        self._submitting = True
        try:
            future = executor.submit(solve_cases, self._order, chunk, first)
        except BaseException:
            self._waiting.extendleft(reversed(chunk))
            raise
        finally:
            self._submitting = False
        self._out[future] = chunk

    def _chunk(self) -> int:
        """Return the number of cases to send out together: fewer at the end, so that workers finish at the
        same time.
        """
        if not self._seconds:
            return 1
        together = int(CHUNK_S / max(self._seconds, 1e-9))
        fair = -(-len(self._waiting) // (2 * AHEAD * self._workers.n))
        return max(1, min(together, fair, MOST_CHUNK, len(self._waiting)))

    def _take_in(self) -> None:
        """Wait until some cases are finished, and store their rows."""
        wait(self._out, POLL_S, "FIRST_COMPLETED")
        self._take_finished()

    def _check_workers(self, executor: Executor) -> None:
        """Raise WorkerUnnoticedError if a worker ended some time ago and the executor has not reported it."""
        if not self._workers.n_ended(executor):
            self._ended_s = 0.0
        elif not self._ended_s:
            self._ended_s = monotonic()
        elif monotonic() - self._ended_s > UNNOTICED_S:
            self._ended_s = 0.0
            raise WorkerUnnoticedError("a worker has ended")

    def _take_finished(self) -> None:
        for future in [future for future in self._out if future.done()]:
            try:
                rows = future.result()
            except (CancelledError, TimeoutError, OSError) as error:
                raise ConfigError(
                    f"{self._workers.name} cannot be reached any more ({str(error) or type(error).__name__})",
                    where=f"study {self._plan.spec.name}",
                    remedy="finished cases are kept; give the same command to continue",
                ) from None
            del self._out[future]
            for row in rows:
                self._keep(row)

    def _keep(self, row: SolvedCase) -> None:
        self.n_done += 1
        self._seconds = row.seconds if not self._seconds else 0.8 * self._seconds + 0.2 * row.seconds
        self._unwritten.append(row)
        self._told(row)

    def _worker_ended(self) -> None:
        """After the end of a worker, send all cases that were being solved out again: together, later each
        alone. A case that was alone too often is stored as lost.
        """
        self.n_break += 1
        lone = len(self._out) == 1 and len(next(iter(self._out.values()))) == 1
        for future, chunk in [*self._out.items()]:
            if future.done() and not future.cancelled() and future.exception() is None:
                for row in future.result():
                    self._keep(row)
                continue
            for number in chunk:
                self._ended[number] += 1
                if self._ended[number] < TOGETHER:
                    self._waiting.append(number)
                elif self._ended[number] < TOGETHER + ALONE or not lone:
                    self._alone.append(number)
                else:
                    self._keep(failed_case(self._plan, number, LOST, LOST_REASON))
        self._out.clear()
        if not self.n_done and self.n_break >= MOST_BREAKS:
            raise ConfigError(
                f"a worker process ended {self.n_break} times before any case was solved",
                where=f"study {self._plan.spec.name}", remedy="try --workers 0, and read its messages",
            )  # fmt: skip

    def _flush(self, now: bool = False) -> None:
        """Write received rows to disk: at intervals, which are short at first; now : write at once."""
        if not self._unwritten or (not now and monotonic() - self._flushed < self._flush_s):
            return
        rows, self._unwritten = self._unwritten, []
        self._parts.append(self._store.add(sorted(rows, key=lambda row: row.number), self._shard))
        self._flush_s, self._flushed = min(2.0 * self._flush_s, LAST_FLUSH_S), monotonic()
