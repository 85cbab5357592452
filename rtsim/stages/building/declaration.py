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
"""Facts on the tracked markers: those of a person, known from a file or a static trial, or of the model."""
FORCES, MASS, EMG = "forces", "mass", "emg"
MUSCLES, TORQUE_GENERATORS = "muscles", "torque_generators"
"""Facts on what the model has."""
RECRUITMENT, WHOLE_BODY = "recruitment", "whole_body"
"""Facts on the settings of the run: it has a table [recruitment]; the ground reaction on the feet is computed
from the motion of the whole body."""
FACTS = (PERSON, OWN_MARKERS, FORCES, MASS, EMG, MUSCLES, TORQUE_GENERATORS, RECRUITMENT, WHOLE_BODY)
"""All facts on which a declaration can depend."""
GIVEN_BY = {FORCES: ("force plates", "--forces"), MASS: ("the mass of the person", "--mass")}
"""Facts that a command-line option can supply -> what they mean in words, and the option."""
FIRST = "kinematics"
"""The stage with which every run over markers begins."""
GAIT = "gait"
"""Input that a stage can provide to a device: the phase of the gait."""

Facts = frozenset[str]
Check = Callable[["RunConfig", "ModelSpec", Facts, Sequence[str]], None]
MakeOfMotion = Callable[["RunConfig", Callable[[str], None]], "DrivenJoint"]


class TableUse(NamedTuple):
    """Texts of the error for a table in a run's config, such as [recruitment], that no stage of the run uses.
    Each is a pair: what is wrong, and a remedy.

    unnamed : for a run that lists its stages, none of which uses the table
    unbuilt : for a run with the default stages, of which those that use the table do not apply to this run;
        None = the texts of unnamed
    """

    unnamed: tuple[str, str]
    unbuilt: tuple[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class StageDeclaration:
    """The declaration of a stage, known before a run. All fields except `make` may be left out. A fact is a
    property that a run or its model has or does not have, such as force plates; FACTS lists all.

    make : function that builds the stage, or returns None if it has nothing to do for the model
    needs : names of the stages that must come before it; stages that these need are not repeated here
    either : names of stages of which at least one must come before it
    inputs : facts that the run must have for the stage; without them it has nothing to do
    usual : facts with which the stage is used by default; None = it is used only if the run names it
    order : its position among the default stages
    joins : whether it is also added to the stages that a run names, if it is among the run's default stages
    spared : facts with which a missing input is no error: the stage is left out although the run names it
    weighs : whether it needs the person's mass to be determined even without force plates
    kernels : group of kernels -> facts with which the stage calls it (rtsim/live/compiled/group_table.py)
    tables : tables of the run that belong to this stage, and the error if no stage uses them
    options : the record of its own table [options.NAME]; None = it has none
    check : checks run, model, facts and the stages before it, before the run; raises ConfigError for
        impossible settings
    provides : what it computes for the controller of a device, such as GAIT, the phase of the gait
    of_motion : function that builds the stage that replaces this one and the stages that it needs if the
      source of the run is a motion
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
        """Return whether a run with these facts (properties) has this stage by default, when it names no
        stages.
        """
        return self.usual is not None and facts.issuperset((*self.usual, *self.inputs))

    def is_spared(self, facts: Facts) -> bool:
        """Return whether this stage is left out without an error if a run with these facts (properties) names
        it, but lacks an input of it.
        """
        return bool(self.spared) and facts.issuperset(self.spared)

    def lacks(self, facts: Facts) -> list[str]:
        """Return the inputs that the stage requires and that a run with these facts (properties) does not
        have.
        """
        return [name for name in self.inputs if name not in facts]

    def groups(self, facts: Facts) -> list[str]:
        """Return the names of the groups of kernels that the stage calls in a run with these facts
        (properties); they are compiled before the run.
        """
        return [group for group, takes in self.kernels.items() if facts.issuperset(takes)]


def facts_of(run: RunConfig, spec: ModelSpec, *, own_markers: bool, forces: bool, mass: bool = True) -> Facts:
    """Return the facts of a run: which of the properties that stages depend on it has, such as force plates.

    own_markers : whether the model brings its own markers; forces : whether there are force plates
    mass : whether the mass is known, which is assumed before a run
    """
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
    """Return the error that the stages of a run need something that the run does not have, such as force
    plates.

    fact : what is missing, FORCES or MASS (the keys of GIVEN_BY)
    """
    what, option = GIVEN_BY[fact]
    return ConfigError(
        f"the stages of this run need {what}, which is missing", where="stages",
        remedy=f"give {option}, or leave the key `stages` out",
    )  # fmt: skip
