"""The declaration of a stage, known before it is built: its needs, when it is used by default, and which
kernels it calls.

Each module of rtsim/stages that is a stage ends in `STAGE = StageDeclaration(...)`. The builder of a run's
stages, the checks before a run and the groups of kernels that are compiled read these, so that nothing else
knows a stage by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rtsim.errors import ConfigError

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.config.runs.run_schema import RunConfig
    from rtsim.stages.building.context import StageContext
    from rtsim.stages.poses.fdk_driven import DrivenJoint
    from rtsim.stages.stage import Stage

PERSON, OWN_MARKERS = "person", "own_markers"
"""Facts on who is followed: a person of a subject's file or a static trial, or a model that brings its own
markers."""
FORCES, MASS, EMG = "forces", "mass", "emg"
MUSCLES, TORQUE_GENERATORS = "muscles", "torque_generators"
"""Facts on what the model has."""
RECRUITMENT, WHOLE_BODY = "recruitment", "whole_body"
"""Facts on what the run asks for: a table [recruitment], and feet that bear what the whole body's motion
tells."""
FACTS = (PERSON, OWN_MARKERS, FORCES, MASS, EMG, MUSCLES, TORQUE_GENERATORS, RECRUITMENT, WHOLE_BODY)
"""All that a declaration can ask of a run."""
GIVEN_BY = {FORCES: ("force plates", "--forces"), MASS: ("the mass of the person", "--mass")}
"""Facts that an option gives: in words, and the option."""
FIRST = "kinematics"
"""The stage with which every run over markers begins."""
GAIT = "gait"
"""Input that a stage can provide to a device: the phase of the gait."""

Facts = frozenset[str]
Check = Callable[["RunConfig", "ModelSpec", Facts, Sequence[str]], None]
MakeOfMotion = Callable[["RunConfig", Callable[[str], None]], "DrivenJoint"]


class TableUse(NamedTuple):
    """Error for a run's table that none of its stages uses: the fault and the remedy.

    unnamed : text of the error if the run names its stages
    unbuilt : text of the error if the default stages have nothing to do, "" = as unnamed
    """

    unnamed: tuple[str, str]
    unbuilt: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class StageDeclaration:
    """The declaration of a stage, known before a run; all fields but `make` may be left out. Facts are those
    of FACTS.

    make : builds the stage, or returns None if it has nothing to do for the model
    needs : names of the stages that must come before it, without those that these need themselves
    either : names of stages of which at least one must come before it
    inputs : facts of the run without which it has nothing to do
    usual : facts of the run with which it is used by default; None = only if the run names it
    order : its position among the default stages
    joins : whether, where it is a default stage, it is also added to stages that a run names
    spared : facts of the run with which it is left out without an error if it is named but its inputs are
      missing
    weighs : whether it needs the person's mass to be determined even without force plates
    kernels : group of kernels -> facts with which the stage calls it (rtsim/live/compiled/group_table.py)
    tables : tables of the run that belong to this stage, and the error if no stage uses them
    options : the record of its own table [options.NAME]; None = it has none
    check : checks run, model, facts and the stages before it, before the run; raises ConfigError for
        impossible settings
    provides : inputs that it provides to others, such as GAIT
    of_motion : builds the stage that replaces it and its needs if the source of the run is a motion
    """

    make: Callable[[StageContext], Stage | None]
    needs: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    usual: tuple[str, ...] | None = None
    order: int = 0
    joins: bool = False
    spared: tuple[str, ...] = ()
    weighs: bool = False
    kernels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, TableUse] = field(default_factory=dict)
    options: type[msgspec.Struct] | None = None
    check: Check | None = None
    provides: tuple[str, ...] = ()
    of_motion: MakeOfMotion | None = None

    def is_usual(self, facts: Facts) -> bool:
        """Return whether a run with these facts has this stage by default, when the run names no stages."""
        return self.usual is not None and facts.issuperset((*self.usual, *self.inputs))

    def is_spared(self, facts: Facts) -> bool:
        """Return whether a run with these facts may name this stage although it has nothing to do there."""
        return bool(self.spared) and facts.issuperset(self.spared)

    def lacks(self, facts: Facts) -> list[str]:
        """Return the required inputs of the stage that are not among the facts."""
        return [name for name in self.inputs if name not in facts]

    def groups(self, facts: Facts) -> list[str]:
        """Return the groups of kernels that the stage calls in a run with these facts."""
        return [group for group, takes in self.kernels.items() if facts.issuperset(takes)]


def facts_of(run: RunConfig, spec: ModelSpec, *, own_markers: bool, forces: bool, mass: bool = True) -> Facts:
    """Return the facts of a run; mass : whether the mass is known, which is assumed before a run"""
    there: dict[str, Any] = {
        PERSON: not own_markers,
        OWN_MARKERS: own_markers,
        FORCES: forces,
        MASS: mass,
        EMG: run.emg,
        MUSCLES: spec.muscles,
        TORQUE_GENERATORS: spec.torque_generators is not None,
        RECRUITMENT: run.recruitment is not None,
        WHOLE_BODY: run.foot.level == WHOLE_BODY,
    }
    return frozenset(name for name, value in there.items() if value)


def without(fact: str) -> ConfigError:
    """Return the error for stages that need a fact of GIVEN_BY, such as force plates, which the run does not
    have.
    """
    what, option = GIVEN_BY[fact]
    return ConfigError(
        f"its stages need {what}, and this run has none", where="stages",
        remedy=f"give {option}, or leave the key `stages` out",
    )  # fmt: skip
