"""Estimated duration of a study, from the times of its finished cases, or of one that is solved for the
estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rtsim.studies.plan import StudyPlan
from rtsim.studies.solving import SolvedCase, StudyOrder, solve_cases


class StudyCost(NamedTuple):
    """Estimated time of a study, without the first compilation and start of the kernels.

    n_case, n_shard, n_left : numbers of cases of the study, of the part (shard) of it that this computer
        runs, and of those of this part that are still to be run
    case_s, left_s : time of one case, and of the remaining cases on all workers [s]
    """

    n_case: int
    n_shard: int
    n_left: int
    case_s: float
    left_s: float


def cost_of(
    plan: StudyPlan, rows: Mapping[int, SolvedCase], shard: range, n_worker: int
) -> tuple[StudyCost, SolvedCase | None]:
    """Return the estimated cost of the remaining cases of a shard, from the times of the finished cases.

    If no case is finished, one is solved for the estimate and returned, too; otherwise None is returned in
    its place. It is solved twice and timed the second time, as the first case in a process also reads,
    compiles and allocates what the others reuse.

    rows : finished cases by number; shard : numbers of the cases in this part of the study
    n_worker : number of processes that will solve them
    """
    left = [number for number in shard if number not in rows]
    tried = None
    taken = [row.seconds for row in rows.values() if row.seconds]
    if left and not taken:
        order = StudyOrder(plan.text, plan.folder, plan.digest)
        solve_cases(order, left[:1], first=True)
        (tried,) = solve_cases(order, left[:1])
        taken = [tried.seconds]
    case_s = float(np.median(taken)) if taken else 0.0
    n_worker = max(1, n_worker)
    cost = StudyCost(
        n_case=len(plan.cases), n_shard=len(shard), n_left=len(left), case_s=case_s,
        left_s=case_s * -(-len(left) // n_worker),
    )  # fmt: skip
    return cost, tried
