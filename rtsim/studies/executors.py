"""Executors of cases: this process, processes of this machine, or a Dask scheduler.

All have the interface of concurrent.futures executors, so that one loop (rtsim/studies/drive) uses any of
them.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from rtsim.errors import ConfigError
from rtsim.studies.solving import begin_worker
from rtsim.studies.threads import one_thread

CONNECT_S = 10.0
JOIN_S = 10.0
"""Time that a process that was killed may take to be gone [s]."""


class HereExecutor(Executor):
    """An executor that runs functions immediately in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the function at once and return its finished future; a request to end the program (Ctrl-C) is
        raised here.
        """
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class StudyWorkers(NamedTuple):
    """Executor of cases: this process, processes of this machine or a scheduler.

    n : number of cases solved at the same time; here : whether they are solved in this process
    start : function that creates an executor; stop : function that ends one at once, with its running cases
    lost : exceptions that a future raises if its worker has ended; name : description for messages
    n_ended : function that returns how many workers of an executor have ended, even if the executor has not
        noticed
    """

    n: int
    here: bool
    start: Callable[[], Executor]
    stop: Callable[[Executor], None]
    lost: tuple[type[BaseException], ...]
    name: str
    n_ended: Callable[[Executor], int] = lambda executor: 0


def in_this_process() -> StudyWorkers:
    """Return an executor that solves all cases in this process."""
    return StudyWorkers(
        n=1, here=True, start=HereExecutor, stop=lambda executor: None, lost=(), name="this process"
    )


def in_processes(n: int) -> StudyWorkers:
    """Return an executor that solves cases in n processes on this machine."""

    def start() -> Executor:
        one_thread()
        return ProcessPoolExecutor(n, multiprocessing.get_context("spawn"), begin_worker)

    return StudyWorkers(
        n=n, here=False, start=start, stop=killed, lost=(BrokenExecutor, BrokenPipeError),
        name="1 process" if n == 1 else f"{n} processes", n_ended=n_ended_of,
    )  # fmt: skip


def n_ended_of(executor: Executor) -> int:
    """Return the number of processes of a pool that have ended.

    A pool waits forever for a process that ended while sending a result, or before the pool waited for it
    (Python 3.11: `_ExecutorManagerThread.wait_result_broken_or_wakeup`).
    """
    processes = getattr(executor, "_processes", None) or {}
    return sum(process.exitcode is not None for process in list(processes.values()))


def killed(executor: Executor) -> None:
    """End a pool of processes at once, with their running cases."""
    results = getattr(executor, "_result_queue", None)
    children = multiprocessing.active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join(JOIN_S)
    executor.shutdown(wait=False, cancel_futures=True)
    if results is not None:  # half a result: who waits for its rest learns that there is none
        with suppress(OSError, AttributeError):
            results._writer.close()


def by_scheduler(address: str) -> StudyWorkers:
    """Return an executor that solves cases on the workers of a Dask scheduler; ConfigError if Dask, the
    scheduler or workers are missing."""
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise ConfigError(
            "Dask is not installed",
            where="--scheduler",
            remedy="install the extra: pip install 'rtsim[study]'",
        ) from None
    if "://" not in address:
        raise ConfigError(
            f"{address!r} is not an address of a scheduler",
            where="--scheduler", allowed="one like tcp://HOST:8786",
            remedy="give the address that `dask scheduler` prints",
        )  # fmt: skip
    # what becomes of connections is told here, in one sentence
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)
    clients: list[Client] = []

    def start() -> Executor:
        for client in clients:
            close(client)
        try:
            clients[:] = [Client(address, timeout=CONNECT_S, set_as_default=False)]
        except (OSError, TimeoutError, ValueError) as error:
            raise ConfigError(
                f"no Dask scheduler answers at {address} ({error})", where="--scheduler",
                remedy="start a scheduler with `dask scheduler`, and give the address that it prints",
            ) from None  # fmt: skip
        return clients[0].get_executor(pure=False, retries=0)

    def stop(executor: Executor) -> None:
        executor.shutdown(wait=False)
        for client in clients:
            close(client)

    executor = start()
    n = sum(clients[0].nthreads().values())
    if not n:
        stop(executor)
        raise ConfigError(
            f"the scheduler at {address} has no workers", where="--scheduler",
            remedy="start workers with `dask worker ADDRESS`, with one thread each",
        )  # fmt: skip
    return StudyWorkers(
        n=n, here=False, start=start, stop=stop, lost=(KilledWorker,),
        name=f"{n} worker{'s' if n > 1 else ''} of {address}",
    )  # fmt: skip


def close(client: Any) -> None:
    """Disconnect from a scheduler, even if it no longer exists."""
    with suppress(Exception):
        client.close(timeout=1.0)
