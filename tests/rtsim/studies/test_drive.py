"""A study from its plan to its table: the same whoever solves it, whatever ends meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from rtsim.config.runs.study_schema import StudyResult
from rtsim.errors import ConfigError
from rtsim.studies.drive import StudyDrive, shard_of
from rtsim.studies.executors import HereExecutor, StudyWorkers, in_this_process
from rtsim.studies.plan import StudyPlan
from rtsim.studies.solving import LOST, OK, REFUSED, SolvedCase, solve_case
from rtsim.studies.store import StudyStore
from rtsim.studies.table import CSV, CURVES, NPZ, write_table


def solved_in(folder: Path, plan: StudyPlan, workers: StudyWorkers, n_shard: int = 1) -> StudyStore:
    """The folder of a study that is solved shard by shard."""
    store = StudyStore(folder, plan)
    store.make()
    for k in range(1, n_shard + 1):
        cases = [x for x in shard_of(len(plan.cases), k, n_shard) if x not in store.rows()]
        assert StudyDrive(plan, store, workers, cases, f"{k}-of-{n_shard}").run()
    write_table(store)
    return store


def test_rows_say_how_each_case_went(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects tables: values that a schema refuses are rows with a reason beside those that are solved."""
    rows = solved_in(tmp_path / "a", plan, in_this_process()).rows()
    assert [rows[k].status for k in range(12)] == ([OK] * 4 + [REFUSED] * 2) * 2
    assert "mass_kg" in rows[4].reason
    assert rows[0].units == ("N", "s")
    assert rows[0].numbers[0] > 1e3
    assert np.isnan(rows[4].numbers).all()
    header = (tmp_path / "a" / CSV).read_text().splitlines()[0]
    assert (
        header
        == "case,step,mass,friction,force [N],when [s],frames,unusable,status,reason,seed,versions,plan"
    )


@pytest.mark.parametrize("n_shard", [2, 7])
def test_shards_make_the_same_table(tmp_path: Path, plan: StudyPlan, n_shard: int) -> None:
    """Protects clusters: tables and curves of 1, 2 and 7 shards are equal byte for byte."""
    solved_in(tmp_path / "one", plan, in_this_process())
    solved_in(tmp_path / "many", plan, in_this_process(), n_shard)
    for name in (CSV, NPZ, CURVES):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()


def test_what_is_done_is_not_solved_again(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects hours of work: after an end between any two cases the rest alone is solved."""
    whole = solved_in(tmp_path / "whole", plan, in_this_process())
    store = StudyStore(tmp_path / "cut", plan)
    store.make()
    seen: list[int] = []

    def end(row: SolvedCase) -> None:
        seen.append(row.number)
        if len(seen) == 5:
            drive.stop()

    drive = StudyDrive(plan, store, in_this_process(), range(12), "1-of-1", end)
    assert not drive.run()
    assert sorted(store.rows()) == seen
    assert 5 <= len(seen) < 12
    rest = [k for k in range(12) if k not in store.rows()]
    assert StudyDrive(
        plan, store, in_this_process(), rest, "1-of-1", lambda row: seen.append(row.number)
    ).run()
    assert seen == list(range(12))
    write_table(store)
    assert (store.folder / NPZ).read_bytes() == (whole.folder / NPZ).read_bytes()


class Failing(HereExecutor):
    """Workers that end whenever a case of a number is given to them, or a count of times in all."""

    killer, n_end = -1, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The outcome, or the end of the worker."""
        future: Future[Any] = Future()
        if type(self).killer in args[1] or type(self).n_end > 0:
            type(self).n_end -= 1
            future.set_exception(BrokenExecutor("ended"))
            return future
        return super().submit(fn, *args, **kwargs)


def failing(killer: int = -1, n_end: int = 0) -> StudyWorkers:
    """Such workers."""
    Failing.killer, Failing.n_end = killer, n_end
    made: Callable[[], Executor] = Failing
    return StudyWorkers(
        n=2, here=False, start=made, stop=lambda executor: None, lost=(BrokenExecutor,), name="x"
    )


def test_a_case_that_ends_its_worker_is_a_row(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects a study from one case that takes all memory: it is lost with a reason, no other one is."""
    rows = solved_in(tmp_path / "a", plan, failing(killer=3)).rows()
    assert len(rows) == 12
    assert [k for k, row in rows.items() if row.status == LOST] == [3]
    assert "worker process ended" in rows[3].reason


def test_workers_that_end_cost_no_case(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects against machines that go away: everything is solved, once."""
    seen: list[int] = []
    store = StudyStore(tmp_path / "a", plan)
    store.make()
    workers = failing(n_end=6)
    drive = StudyDrive(plan, store, workers, range(12), "1-of-1", lambda row: seen.append(row.number))
    assert drive.run()
    assert sorted(seen) == list(range(12))
    assert drive.n_break >= 1


def test_workers_that_never_come_up_are_told(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects from a study that starts workers for ever."""
    store = StudyStore(tmp_path / "a", plan)
    store.make()
    told = r"a worker process ended \d+ times before any case was solved.*--workers 0"
    with pytest.raises(ConfigError, match=told):
        StudyDrive(plan, store, failing(n_end=10**9), range(12), "1-of-1").run()


def test_a_column_that_nothing_has_ends_the_study(tmp_path: Path, plan: StudyPlan) -> None:
    """Protects from a table of reasons: a misspelt column is told at the first case, with those near it."""
    results = (StudyResult(name="x", column="contact_normal_forces.flor"),)
    wrong = plan._replace(spec=msgspec.structs.replace(plan.spec, results=results))
    with pytest.raises(
        ConfigError, match=r"no column 'contact_normal_forces.flor'.*contact_normal_forces.floor"
    ):
        solve_case(wrong, 0, first=True)
    assert solve_case(wrong, 0).status == "failed"
