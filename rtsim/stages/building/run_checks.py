"""Checks of a run's requests against the declarations of its stages, and against the names in its model.

A wrong name is reported before anything is compiled, which takes a minute at the first start.
"""

from __future__ import annotations

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.stages.building.declaration import facts_of
from rtsim.stages.building.find import check_tables, idle, misplaced, missing_before, options_of, stages_of


def check_run(run: RunConfig, spec: ModelSpec, *, of_model: bool, forces: bool) -> None:
    """Raise ConfigError if a table of the run has no effect, if an input of a stage is missing, or if a stage
    refuses the settings.

    of_model : whether the run uses the model's own markers
    forces : whether it has force plates
    """
    facts = facts_of(run, spec, own_markers=of_model, forces=forces)
    stages = stages_of(run, facts)
    check_tables(run, stages)
    before: list[str] = []
    for name, declared in stages.items():
        if declared.check is not None:
            declared.check(run, spec, facts, before)
        if name in run.stages and not declared.is_spared(facts):
            if missing := missing_before(declared, before):
                raise misplaced(name, missing)
            if declared.lacks(facts):
                raise idle(name, declared, facts, spec.name)
        options_of(name, declared, run)
        before.append(name)
    for name in run.options:
        if name not in stages:
            raise ConfigError(
                f"the table has no effect, because the run has no stage {name!r}",
                where=f"options.{name}", allowed=", ".join(stages),
                remedy="add it to the list `stages` of the config, or remove the table",
            )  # fmt: skip
