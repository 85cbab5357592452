"""What a study solves repeatedly: the common interface of all kinds of tasks, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from rtsim.config.runs.study_schema import StudySpec
from rtsim.studies.outcome import CaseOutcome


class StudyTask(Protocol):
    """What a study solves in each case: a run, a simulation or a fit.

    Attributes
    ----------
    bases : root of keys (model, run, subject, input) -> the contents of that config before a case changes
        them
    files : files that it reads in addition to configs; if their content changes, it is another study
    groups : groups of kernels that it calls (rtsim/live/compiled/group_table)
    """

    bases: Mapping[str, Any]
    files: tuple[Path, ...]
    groups: tuple[str, ...]

    def solve(self, changed: Mapping[str, Any], seed: int) -> CaseOutcome:
        """Solve a case and return its results; ConfigError if it has none.

        changed : nested tables that the case changes, by name (model, run, subject, input), with its values
            in them
        seed : seed of the case's random numbers
        """
        ...


def task_of(spec: StudySpec, folder: str) -> StudyTask:
    """Return what a study solves in each case (analysis, simulation or fit); folder : folder of the study's
    files. ConfigError for an unsupported task.
    """
    if spec.analyse is not None:
        from rtsim.studies.analysis_task import AnalysisTask

        return AnalysisTask(spec, folder)
    if spec.simulate is not None:
        from rtsim.studies.simulation_task import SimulationTask

        return SimulationTask(spec, folder)
    from rtsim.studies.fit_task import FitTask

    return FitTask(spec, folder)
