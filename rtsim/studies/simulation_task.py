"""Simulations as the cases of a study: like `rtsim simulate`, but with a model, subject or input changed by
the case.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.paths import find_config
from rtsim.config.reading import is_file
from rtsim.config.runs.study_schema import SimulatedModel, StudySpec
from rtsim.errors import ConfigError
from rtsim.files.model_toml import model_text
from rtsim.files.output import write_text
from rtsim.live.compiled.group_table import group_of_simulation
from rtsim.models.load import load_model
from rtsim.models.packing.driven_generators import generator_names
from rtsim.simulation.load import read_setup, simulator_of
from rtsim.simulation.results import results_of
from rtsim.simulation.run import check_run, run, warm_up, whole_steps
from rtsim.studies.changes import checked_subject, placed
from rtsim.studies.outcome import ResultColumns
from rtsim.subjects.subject import load_subject, save_subject
from streams.addresses import is_stream


class SimulationTask:
    """What a study of simulations solves in each case: a simulation like that of `rtsim simulate`."""

    def __init__(self, spec: StudySpec, folder: str) -> None:
        assert spec.simulate is not None
        how, self._folder = spec.simulate, folder
        if is_stream(how.motion):
            raise ConfigError(f"{how.motion!r} is a stream", where="simulate.motion", allowed="a file")
        self._how = msgspec.structs.replace(
            how,
            model=placed(how.model, folder),
            subject=placed(how.subject, folder),
            motion=placed(how.motion, folder),
        )
        self.spec = load_model(self._how.model)
        subject = load_subject(find_config(self._how.subject, "subjects")) if self._how.subject else None
        self._input = input_tables(self._how, self.spec)
        self.bases: Mapping[str, Any] = {
            "model": msgspec.to_builtins(self.spec),
            **({"subject": msgspec.to_builtins(subject)} if subject else {}),
            "input": self._input,
        }
        self.groups: tuple[str, ...] = (group_of_simulation(self.spec),)
        named = (Path(name) for name in (self._how.model, self._how.subject, self._how.motion))
        self.files = tuple(path for path in named if is_file(path))

    def solve(self, changed: Mapping[str, Any], seed: int) -> ResultColumns:
        """Solve a case: simulate the model, and return columns of results.

        changed : nested tables of "model", "subject" or "input" that the case changes, complete; seed : not
            used, as a simulation has no random numbers
        """
        how, given = self._how, changed.get("input", self._input)
        with tempfile.TemporaryDirectory(prefix="rtsim-study-") as name:
            model, subject = how.model, how.subject
            if "model" in changed:
                spec = check_record(changed["model"], ModelSpec, "model")
                model = str(Path(name) / "model.toml")
                write_text(Path(model), model_text(spec))
            if "subject" in changed:
                subject = str(Path(name) / "subject.toml")
                save_subject(Path(subject), checked_subject(changed["subject"]))
            setup = read_setup(
                model,
                subject or None,
                gains=stated(given["load"], self._input["load"], how.load),
                motion=placed(given["motion"], self._folder),
                prescribed=how.prescribe,
                excited=stated(given["excite"], self._input["excite"], how.excite),
            )
            simulator = simulator_of(setup)
            warm_up(simulator)
            n_step = whole_steps(simulator)
            done = run(simulator, n_step, -(-n_step // how.rows))
        check_run(done, simulator)
        return ResultColumns(results_of(simulator, done))


def input_tables(how: SimulatedModel, spec: ModelSpec) -> dict[str, Any]:
    """Return the inputs of a simulation that options of `rtsim simulate` can set: factors of loads and
    excitations of muscles and torque generators, by name, and the file of a prescribed motion. Inputs that
    the study does not state are those of the model.
    """
    excited = {muscle.name: muscle.excitation for muscle in spec.muscles if muscle.hill is not None}
    driven = spec.torque_generators
    for name in generator_names(spec):
        excited[name] = driven.excitation.get(name, 0.0) if driven is not None else 0.0
    return {
        "load": {**{load.name: 1.0 for load in spec.loads}, **how.load},
        "excite": {**excited, **how.excite},
        "motion": how.motion,
    }


def stated(
    given: Mapping[str, float], base: Mapping[str, float], named: Mapping[str, float]
) -> dict[str, float]:
    """Return those inputs (factors of loads, or excitations) of a case, by name, that the study states or
    whose value the case changes; all other inputs keep the values of the model.

    given : values in the case; base : values before any change; named : values that the study states
    """
    return {name: value for name, value in given.items() if name in named or value != base[name]}
