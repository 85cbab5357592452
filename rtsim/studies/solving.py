"""Solving of cases in a process, as every worker does it.

A worker reads the text of the study once and builds from it the plan, which has the numbered cases with the
values of their parameters; kernels are compiled or loaded by the first case. It uses one thread, so that
results do not depend on the number of processors.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import wait
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError, RtsimError
from rtsim.live.processes.gc_control import gc_paused
from rtsim.live.processes.signals import REQUESTS
from rtsim.studies.changes import with_values
from rtsim.studies.outcome import MissingColumnError, curve_of, number_of
from rtsim.studies.plan import StudyPlan, plan_of
from rtsim.studies.threads import one_thread

OK, REFUSED, FAILED, LOST = "ok", "refused", "failed", "lost"
"""Status of a case: solved; values that a schema refuses; no results; its worker ended again and again."""
PACKAGES = ("rtsim", "numpy", "scipy", "numba")
LONGEST_REASON = 500
PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal that a process gets when its parent ends."""


class StudyChangedError(ConfigError):
    """Raised if the study that a worker process has read is not the one that it was asked to solve, as its
    files or configs have changed.
    """


class SolvedCase(NamedTuple):
    """A case of a study that was solved, or the reason why it was not.

    number : number of the case, from 0; numbers : (n_result,) results, NaN = missing; units : their units,
        () = none is known
    curves : (n_curve, n_point) or None; seconds : computing time [s]; versions : versions of the software
        that solved it
    """

    number: int
    status: str
    reason: str
    numbers: tuple[float, ...]
    units: tuple[str, ...]
    frames: int
    unusable: int
    curves: NDArray[np.float64] | None
    seconds: float
    versions: str


class StudyOrder(NamedTuple):
    """Message that tells a worker process which study to solve: the text and folder of its file, and the hash
    of its plan.
    """

    text: str
    folder: str
    digest: str


_plans: dict[str, StudyPlan] = {}
"""Plans of this process, by their hash; one at a time."""
_to_the_end = contextlib.ExitStack()
_alone: list[bool] = []
"""Not empty if this process only solves cases, so that garbage collection is suspended until its end."""


def solve_cases(order: StudyOrder, cases: Sequence[int], first: bool = False) -> list[SolvedCase]:
    """Solve the cases with these numbers, in this process, and return their rows of results.

    order : the study
    first : whether no case of the study was solved before. A column that the study names, but that the
        results lack, is then raised as an error of the study; later it is the failure of a single case.
    """
    if order.digest not in _plans:
        _plans.clear()
        plan = plan_of(order.text, order.folder, "study")
        if plan.digest != order.digest:
            raise StudyChangedError(
                "the files or configs of the study have changed since it was planned", where="study",
                remedy="give every machine the same files, and do not change the files until the study "
                    "is finished",
            )  # fmt: skip
        _plans[order.digest] = plan
        if _alone:
            _to_the_end.close()
            _to_the_end.enter_context(gc_paused())
    with gc_paused():
        return [solve_case(_plans[order.digest], number, first) for number in cases]


def solve_case(plan: StudyPlan, number: int, first: bool = False) -> SolvedCase:
    """Solve the case with this number; a case without results states the reason.

    first : whether no case was solved before, so that a column missing in the results is raised as an error
        of the study
    """
    begun = perf_counter()
    status, reason = OK, ""
    spec = plan.spec
    numbers: tuple[float, ...] = (math.nan,) * len(spec.results)
    units: tuple[str, ...] = ()
    frames = unusable = 0
    curves = empty_curves(plan)
    try:
        changed = with_values(plan.task.bases, plan.keys, spec.parameters, plan.cases[number])
        found = plan.task.solve(changed, plan.seed(number))
        taken = [number_of(one, found) for one in spec.results]
        numbers, units = tuple(x for x, _ in taken), tuple(unit for _, unit in taken)
        frames, unusable = found.n_frame, found.n_unusable
        if spec.curves is not None:
            kept = spec.curves
            curves = np.array([curve_of(found, name, kept.points) for name in kept.columns])
    except MissingColumnError as error:
        if first:
            raise
        status, reason = FAILED, str(error)
    except ConfigError as error:
        status, reason = (REFUSED if is_of_schema(error) else FAILED), str(error)
    except RtsimError as error:
        status, reason = FAILED, str(error)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        status = FAILED
        reason = f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}, {place.name})"
    return SolvedCase(
        number=number, status=status, reason=reason[:LONGEST_REASON], numbers=numbers, units=units,
        frames=frames, unusable=unusable, curves=curves, seconds=perf_counter() - begun,
        versions=versions_here(),
    )  # fmt: skip


def is_of_schema(error: ConfigError) -> bool:
    """Return whether an error means that the values of a case were rejected when its config was checked
    against the schema, before anything was solved.
    """
    return error.where in ("model", "run", "subject", "input")


@cache
def versions_here() -> str:
    """Return the versions of rtsim and of the libraries on which results depend."""
    return ", ".join(f"{name} {version_of(name)}" for name in PACKAGES)


def version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def begin_worker() -> None:
    """Prepare a worker process; only its parent process handles Ctrl-C."""
    for number in REQUESTS:
        signal.signal(number, signal.SIG_IGN)
    one_thread()
    _alone.append(True)
    die_with_parent()
    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()


def die_with_parent() -> None:
    """Let Linux end this process together with the thread that started it.

    A thread of this process that watches the parent, as `end_with_parent` does, would have to wait for a
    running kernel, which holds Python's global lock.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_with_parent() -> None:
    """End this process when its parent process has ended, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def failed_case(plan: StudyPlan, number: int, status: str, reason: str) -> SolvedCase:
    """Return the row of a case that no worker could solve, with its status and the reason as text."""
    return SolvedCase(
        number=number, status=status, reason=reason, numbers=(math.nan,) * len(plan.spec.results), units=(),
        frames=0, unusable=0, curves=empty_curves(plan), seconds=0.0, versions=versions_here(),
    )  # fmt: skip


def empty_curves(plan: StudyPlan) -> NDArray[np.float64] | None:
    """Return the curves of a case without results, NaN (n_curve, n_point); None if no curves are stored."""
    kept = plan.spec.curves
    return None if kept is None else np.full((len(kept.columns), kept.points), np.nan)
