"""Analyses of a recording as the cases of a study: like `rtsim analyse`, but with a model, run or subject
changed by the case.

Data that cases share are read once in each process: the recording, and the person if no case changes it. If
cases change only the weights of soft constraints (such as the ligaments of the knee model), the stages of the
run are reused, too, and the weights are replaced in them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from rtsim.config.bounds import check_numbers
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.models.model_tables import MethodSpec
from rtsim.config.paths import find_config
from rtsim.config.reading import is_file
from rtsim.config.runs.choices import load_run, overlay
from rtsim.config.runs.run_schema import FILE_KEYS, RunConfig
from rtsim.config.runs.study_schema import StudyInput, StudySpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.model_toml import model_text
from rtsim.files.output import write_text
from rtsim.files.recording import Results
from rtsim.live.checks import check_run
from rtsim.live.compiled.group_table import groups_of
from rtsim.live.forces import check_forces, files_of, pressed_as_loads_say
from rtsim.live.inputs.prescribed_motion_run import (
    check_driven,
    groups_of_motion,
    is_driven,
    session_of,
    stage_of,
)
from rtsim.live.inputs.recorded import KeptResults, TimesInput
from rtsim.live.inputs.sources import MADE_UP, check_there, subject_if_any
from rtsim.live.loop import Loop
from rtsim.live.processes.serve import meta_of
from rtsim.live.recorded_run import Ready, check_results, made_ready, name_ahead, trial_of
from rtsim.live.subjects.persons import with_person
from rtsim.live.subjects.subject_check import notes_before
from rtsim.methods.kinematics.choice import method_of
from rtsim.methods.kinematics.weights import can_reweigh, reweigh
from rtsim.models.load import load_model, model_for
from rtsim.stages.building.first_stage import kinematics_of
from rtsim.studies.changes import checked_subject, placed
from rtsim.studies.outcome import EDGE_S, ResultColumns
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.subject import Subject, save_subject
from streams.addresses import is_stream


class PreparedCase(NamedTuple):
    """Stages and input of a case, ready to run, and the time of the recording's first frame [s]."""

    ready: Ready
    began_s: float


class AnalysisTask:
    """What a study of recordings solves in each case: an analysis like that of `rtsim analyse`."""

    def __init__(self, spec: StudySpec, folder: str) -> None:
        assert spec.analyse is not None
        self._folder, self._anyway = folder, spec.analyse.anyway
        run = base_run(spec, folder)
        if is_stream(run.source):
            raise ConfigError(
                f"{run.source!r} is a stream",
                where="analyse.run.source",
                allowed="a file, or walker (the built-in simulated gait)",
            )
        check_there(run.source)
        self._driven = is_driven(run)
        subject: Subject | None = None
        if self._driven:
            check_driven(run)
            check_noiseless(spec)
        else:
            check_run(run)
            run, _ = with_person(run)
            subject = subject_if_any(run, load_model(run.model))
        self._model_name = model_for(run.model, subject.side) if subject else run.model
        self._side = subject.side if subject else run.side
        self.run, self.spec, self.input = run, load_model(self._model_name), spec.input
        self.bases: Mapping[str, Any] = {
            "run": msgspec.to_builtins(run),
            "model": msgspec.to_builtins(self.spec),
            **({"subject": msgspec.to_builtins(subject)} if subject else {}),
            "input": msgspec.to_builtins(spec.input),
        }
        self.groups = groups_of_motion(run) if self._driven else groups_of(run)
        self.files = tuple(Path(name) for name in files_of(run) if is_file(name))
        self._trials: dict[tuple[str, ...], MarkerTrial] = {}
        self._noted: set[tuple[str, ...]] = set()
        self._reweighed = only_weights(spec, method_of(run, self.spec)) and not self._driven
        self._reweighed = self._reweighed and can_reweigh(self.spec, method_of(run, self.spec))
        self._kept: PreparedCase | None = None
        self._bodies = for_person(self.spec, subject) if subject else self.spec

    def solve(self, changed: Mapping[str, Any], seed: int) -> ResultColumns:
        """Solve a case: analyse the recording, and return columns of results.

        changed : nested tables (as in configs) of "run", "model", "subject" or "input" that the case changes,
            complete
        seed : seed of the noise that is added to the markers
        """
        if self._reweighed and changed.keys() == {"model"}:
            return self._with_weights(changed["model"])
        with tempfile.TemporaryDirectory(prefix="rtsim-study-") as folder:
            run = self._run_of(changed, Path(folder))
            what = check_record(dict(changed.get("input", self.bases["input"])), StudyInput, "input")
            prepared = self._prepared(run, what, seed)
            return ResultColumns(solved(run, prepared.ready), prepared.began_s)

    def _with_weights(self, tables: dict[str, Any]) -> ResultColumns:
        """Analyse the recording with other weights of soft constraints, using the existing stages, and return
        columns of results; tables : nested tables of the model, with these weights
        """
        method = method_of(self.run, self.spec)
        how = check_record(tables["methods"][method], MethodSpec, "model")
        try:
            check_numbers(how, f"methods.{method}")
        except ValueError as error:
            raise ConfigError(str(error), where="model") from None
        if self._kept is None:
            self._kept = self._prepared(self.run, self.input, 0)
        kinematics = kinematics_of(self._kept.ready.stages)
        reweigh(kinematics.estimator, self._bodies, how)
        return ResultColumns(solved(self.run, self._kept.ready), self._kept.began_s)

    def _run_of(self, changed: Mapping[str, Any], folder: Path) -> RunConfig:
        """Return the run config of a case; ConfigError for rejected values.

        changed : nested tables of "run", "model" or "subject" that the case changes; folder : folder to which
            changed models and subjects are written as files
        """
        run = self.run
        if "run" in changed:
            tables = {key: placed(x, self._folder) for key, x in changed["run"].items()}
            run = check_record(tables, RunConfig, "run")
        if "model" in changed:
            spec = check_record(changed["model"], ModelSpec, "model")
            write_text(folder / "model.toml", model_text(spec))
            run = msgspec.structs.replace(run, model=str(folder / "model.toml"), side=self._side)
        if "subject" in changed:
            subject = checked_subject(changed["subject"])
            save_subject(folder / "subject.toml", subject)
            run = msgspec.structs.replace(run, subject=str(folder / "subject.toml"))
        return run

    def _prepared(self, run: RunConfig, what: StudyInput, seed: int) -> PreparedCase:
        """Return the stages and the input of a case, ready to run.

        what : time span of the recording, and noise of its markers; seed : seed of the noise
        """
        if self._driven:
            check_driven(run)
            stage = stage_of(run, lambda text: None)
            every, session = stage.drivers.times, session_of(stage.drivers)
            times = every[span_of(every, what)]
            ready = Ready(len(times), lambda progress: TimesInput(times, session, progress), [stage], ())
            return PreparedCase(ready, float(every[0]))
        check_run(run)
        check_forces(run, streamed=False)
        who = tuple(str(getattr(run, key)) for key in (*FILE_KEYS, "person", "side", "units", "up"))
        if who not in self._noted:  # whose trial it is has been looked at once
            run, _ = with_person(run)
            notes_before(run, anyway=self._anyway)
            self._noted.add(who)
        key = (run.source, run.units, run.up, run.person, run.side, str(run.label_unnamed))
        if key not in self._trials:
            self._trials = {key: trial_of(run)}  # of several the last: they are large
        trial = part_of_trial(self._trials[key], what, seed)
        ready = made_ready(run, trial, ())
        name_ahead(ready, trial)
        return PreparedCase(ready, float(self._trials[key].times[0]))


def base_run(spec: StudySpec, folder: str) -> RunConfig:
    """Return the run config from which all cases start, before a case changes any of its keys; folder :
    folder of the study's files
    """
    how = spec.analyse
    assert how is not None
    if how.choices and not how.config:
        raise ConfigError(
            "choices select parts of a run config, but the study names no run config",
            where="analyse.choices",
            remedy="add analyse.config",
        )
    config = placed(how.config, folder)
    run = load_run(find_config(config, "runs"), how.choices) if config else RunConfig(name="study")
    tables = msgspec.to_builtins(run)
    overlay(tables, {key: placed(value, folder) for key, value in how.run.items()})
    tables |= {key: placed(tables[key], folder) for key in FILE_KEYS if key in tables}
    return pressed_as_loads_say(check_record(tables, RunConfig, f"study {spec.name}: analyse.run"))


def only_weights(spec: StudySpec, method: str) -> bool:
    """Return whether the cases of a study differ only in the weights of soft constraints of this method of
    the model, and no noise is added to the markers. Then one set of stages can solve all cases.
    """
    start = f"model.methods.{method}.soft."
    keys = [key for one in spec.parameters for key in one.keys]
    return all(key.startswith(start) for key in keys) and not spec.input.noise_mm


def check_noiseless(spec: StudySpec) -> None:
    """Raise ConfigError if a study of a motion without markers has noise on markers."""
    if spec.input.noise_mm or any("input.noise_mm" in one.keys for one in spec.parameters):
        raise ConfigError(
            "noise is added to markers, and the source is a motion without markers", where="input.noise_mm",
            remedy="leave it out",
        )  # fmt: skip


def span_of(times: np.ndarray, what: StudyInput) -> slice:
    """Return the frames within the time span that a study states (`what`); ConfigError if there are none."""
    ends = np.array([what.start_s, what.end_s or np.inf]) - EDGE_S
    start, stop = np.searchsorted(times - times[0], ends)
    if stop <= start:
        raise ConfigError(
            f"no frame lies between {what.start_s:g} and {what.end_s:g} s", where="input",
            allowed=f"times from 0 to {times[-1] - times[0]:g} s",
        )  # fmt: skip
    return slice(int(start), int(stop))


def part_of_trial(trial: MarkerTrial, what: StudyInput, seed: int) -> MarkerTrial:
    """Return the frames of a trial within the study's time span, with the random noise of a case added to the
    markers; what : time span and size of the noise"""
    span = span_of(trial.times, what)
    positions = trial.positions[span]
    if what.noise_mm:
        noise = np.random.default_rng(seed).normal(0.0, 1e-3 * what.noise_mm, positions.shape)
        positions = positions + noise
    return trial._replace(times=trial.times[span], positions=np.ascontiguousarray(positions))


def solved(run: RunConfig, ready: Ready) -> Results:
    """Solve all frames of a run and return the results; ConfigError if no frame has a usable result; ready :
    stages and input
    """
    kept = KeptResults()
    loop = Loop(ready.open_source(lambda n_done: None), ready.stages, kept, meta_of(run, ready.notes))
    loop.run()
    if loop.failure:
        raise ConfigError(loop.failure, where=run.source if run.source in MADE_UP else Path(run.source).name)
    results = kept.results()
    if results is None:
        raise ConfigError("no frame was solved", where=run.source)
    check_results(results, run.source, ready.wrong, bool(run.forces))
    return results
