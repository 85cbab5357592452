"""Search for the stages of a run by name: modules of rtsim/stages, and stages of other packages.

A stage is declared in one of two ways. It may be a module of rtsim/stages that contains `STAGE =
StageDeclaration(...)`; its name is that of the module. Or it is an entry point of the group `rtsim.stages` in
another package, which is such a declaration, or a function that builds the stage.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import msgspec

import rtsim.stages
from rtsim.config.mistake import explain
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.methods.keypoint_limits import for_keypoints
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FIRST, GIVEN_BY, Facts, StageDeclaration, without
from rtsim.stages.building.package_stage import PackageStage, made_by_package
from rtsim.stages.stage import Stage
from rtsim.subjects.subject import Subject

GROUP = "rtsim.stages"
REST = "usual"
"""Placeholder in the list of a run's stages: all default stages that the list does not name."""
PLAIN = RunConfig(name="plain")
"""Run config that sets nothing: all defaults."""


@cache
def own_stages() -> dict[str, StageDeclaration]:
    """Return the declarations of the stages that are modules of rtsim/stages, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(rtsim.stages.__path__))
    found = {name: getattr(import_module(f"rtsim.stages.{name}"), "STAGE", None) for name in names}
    return {name: stage for name, stage in found.items() if stage is not None}


def stage_names() -> list[str]:
    """Return the names of all stages, those of rtsim and those that other installed packages provide."""
    return sorted({*own_stages(), *(point.name for point in entry_points(group=GROUP))})


def check_named(names: Sequence[str]) -> None:
    """Raise ConfigError for unknown stages, and for a list of stages that does not begin with the
    kinematics."""
    find_stages(names)
    if names and names[0] != FIRST:
        raise ConfigError(f"{names[0]!r} comes first", where="stages", allowed=f"{FIRST} first")


def find_stage(name: str) -> StageDeclaration:
    """Return the declaration of a stage; ConfigError for a name that no stage has, or if the package that
    provides the stage cannot be loaded.
    """
    return find_stages((name,))[name]


def find_stages(names: Iterable[str]) -> dict[str, StageDeclaration]:
    """Return the declarations of these stages, by name; the placeholder REST is skipped. ConfigError for any
    other name that no stage has, or if a package that provides a stage cannot be loaded.
    """
    points = {point.name: point for point in entry_points(group=GROUP)}
    found: dict[str, StageDeclaration] = {}
    for name in names:
        if name in points:
            found[name] = loaded(points[name])
        elif name in own_stages():
            found[name] = own_stages()[name]
        elif name != REST:
            raise ConfigError(f"unknown stage {name!r}", where="stages", allowed=", ".join(stage_names()))
    return found


def loaded(point: EntryPoint) -> StageDeclaration:
    """Load a stage that another package provides as an entry point; ConfigError where it cannot be loaded, or
    is neither a StageDeclaration nor a function that builds a stage.
    """
    try:
        found = point.load()
    except Exception as fault:  # whatever a stranger's package does
        raise ConfigError(
            f"the stage {point.name!r} cannot be loaded ({type(fault).__name__}: {fault})",
            where=f"entry point {point.value}",
            remedy="correct or uninstall the package that provides it",
        ) from fault
    if isinstance(found, StageDeclaration):
        return found
    if not callable(found):
        raise ConfigError(
            f"the stage {point.name!r} is neither a StageDeclaration nor a function",
            where=f"entry point {point.value}",
            allowed="a StageDeclaration, or a function make(setting) that returns a Stage",
        )  # fmt: skip
    return StageDeclaration(make=found)


def usual_stages(facts: Facts) -> list[str]:
    """Return the stages that a run with these facts has by default, in order."""
    usual = {name: stage.order for name, stage in own_stages().items() if stage.is_usual(facts)}
    return sorted(usual, key=usual.__getitem__)


def names_of(named: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Return the names of the stages of a run: the default ones if the run names none; else the ones it
    names, with the placeholder REST replaced by the default ones."""
    rest = [name for name in usual if name not in named]
    return [name for word in named or (REST,) for name in (rest if word == REST else (word,))]


def stages_of(run: RunConfig, facts: Facts) -> dict[str, StageDeclaration]:
    """Return the declarations of the stages of a run with these facts (properties), in order and by name:
    those that the run names, or the default ones if it names none, and the default ones that are added to
    any list of stages (`StageDeclaration.joins`).
    """
    usual = usual_stages(facts)
    names = names_of(run.stages, usual)
    names += [name for name in usual if own_stages()[name].joins and name not in names]
    return find_stages(names)


def groups_of_stages(run: RunConfig, facts: Facts) -> set[str]:
    """Return the names of the groups of kernels that the stages of a run call, so that they can be compiled
    before it.
    """
    return {group for stage in stages_of(run, facts).values() for group in stage.groups(facts)}


def make_stages(
    run: RunConfig,
    spec: ModelSpec,
    subject: Subject | None,
    forces: ForceFeed | None = None,
    mass_kg: float = 0.0,
) -> list[Stage]:
    """Build the stages of a run in order. ConfigError if a stage that the run names lacks one that must come
    before it, or computes nothing in this run."""
    run = for_keypoints(run) if subject is not None and subject.keypoints else run
    setting = StageContext(run, spec, subject, forces=forces, mass_kg=mass_kg)
    facts, stages = setting.facts, stages_of(run, setting.facts)
    foreign = {point.name for point in entry_points(group=GROUP)}
    for name, declared in stages.items():
        named = name in run.stages and not declared.is_spared(facts)
        missing = missing_before(declared, setting.before)
        if missing and named and not declared.lacks(facts):
            raise misplaced(name, missing)
        setting.options = options_of(name, declared, run)
        make = made_by_package if name in foreign else made_by
        stage = None if missing or declared.lacks(facts) else make(name, declared, setting)
        if stage is not None:
            setting.before[name] = stage
        elif named:
            raise idle(name, declared, facts, spec.name)
    check_tables(run, {name: stages[name] for name in setting.before})
    return [PackageStage(name, made) if name in foreign else made for name, made in setting.before.items()]


def made_by(name: str, declared: StageDeclaration, setting: StageContext) -> Stage | None:
    """Build the stage of this name; None if it has nothing to do in this run."""
    return declared.make(setting)


def missing_before(declared: StageDeclaration, before: Iterable[str]) -> str:
    """Return the name of the first stage that this stage requires before it and that is not among the stages
    `before`; "" if none is missing.
    """
    there = {*before}
    missing = next((name for name in declared.needs if name not in there), "")
    return missing or (declared.either[0] if declared.either and not there & {*declared.either} else "")


def misplaced(name: str, need: str) -> ConfigError:
    """Return the error for the stage `name`, which lacks the stage `need` before it."""
    return ConfigError(
        f"the stage {name!r} needs the stage {need!r} before it", where="stages",
        remedy=f"put {need!r}, and the stages that it needs, before {name!r}, or leave the key `stages` out",
    )  # fmt: skip


def check_tables(run: RunConfig, stages: Mapping[str, StageDeclaration]) -> None:
    """Raise ConfigError if the run's configuration has a table, such as [recruitment], that none of its
    stages uses.
    """
    taken = {key for stage in stages.values() for key in stage.tables}
    usual = not run.stages or REST in run.stages
    for key, use in ((key, use) for stage in own_stages().values() for key, use in stage.tables.items()):
        if key not in taken and getattr(run, key) != getattr(PLAIN, key):
            what, remedy = use.unbuilt if use.unbuilt and usual else use.unnamed
            raise ConfigError(what, where=key, remedy=remedy)


def options_of(name: str, declared: StageDeclaration, run: RunConfig) -> msgspec.Struct | None:
    """Return the options of the stage `name` from the table [options.NAME] of the run's config: its default
    options if the config has no such table, and None if the stage takes no options.

    Raises ConfigError for invalid values, and if the config has this table for a stage without options.
    """
    table = run.options.get(name)
    where = f"options.{name}"
    if declared.options is None:
        if table is None:
            return None
        raise ConfigError(f"the stage {name!r} takes no options", where=where, remedy="remove the table")
    try:
        return msgspec.convert(table or {}, declared.options)
    except msgspec.ValidationError as fault:
        what, allowed, remedy = explain(str(fault), table, declared.options)
        raise ConfigError(what, where=where, allowed=allowed or "", remedy=remedy) from None


def idle(name: str, declared: StageDeclaration, facts: Facts, model: str) -> ConfigError:
    """Return the error for a stage that the run names but that computes nothing in it, because force plates
    or the mass are missing, or because it does not apply to the model.

    facts : properties of the run, such as having force plates
    model : name of the model, for the text
    """
    lacking = next((fact for fact in declared.lacks(facts) if fact in GIVEN_BY), "")
    if lacking:
        return without(lacking)
    return ConfigError(
        f"the stage {name!r} computes nothing for {model}", where="stages", remedy="leave this stage out"
    )
