"""Checks of recruitment and force-dependent kinematics in a run against the names in its model, before
compilation."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.config.models.model_names import coordinate_names
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.stages.building.declaration import FORCES, PERSON, RECRUITMENT, Facts, TableUse, without

RECRUITMENT_USE = TableUse(
    unnamed=(
        "the table has no effect, because no stage recruits muscles",
        'add "recruitment" to stages, or remove [recruitment]',
    ),
    unbuilt=(
        "the table has no effect, because muscle recruitment needs joint moments of inverse dynamics and a "
        "model with muscles",
        "give --forces and a model with masses and muscles, or remove [recruitment]",
    ),
)
FDK_USE = TableUse(
    unnamed=(
        "the table has no effect, because no stage computes the balance of forces at a joint",
        'give stages = ["kinematics", "fdk"], or remove [fdk]',
    )
)


def check_recruited(run: RunConfig, spec: ModelSpec, facts: Facts, before: Sequence[str]) -> None:
    """Raise ConfigError if a run with a person requests the stage `recruitment`, which needs a model with its
    own markers, and for reserve actuators on names that are not coordinates of the model.
    """
    from rtsim.methods.muscles.recruitment import check_reserves

    if PERSON in facts:
        raise of_person_otherwise()
    if run.recruitment is not None:
        check_reserves(run.recruitment, (*coordinate_names(spec), *(angle.name for angle in spec.angles)))


def check_balance(run: RunConfig, spec: ModelSpec, facts: Facts, *, loaded: bool) -> None:
    """Raise ConfigError if force-dependent kinematics cannot be computed with the settings of a run.

    facts : properties of the run, such as having force plates; loaded : whether inverse dynamics comes before
        it
    """
    if PERSON not in facts:
        check_balanced(run, spec)
        return
    if not loaded:
        raise without_load_of_person()
    if FORCES not in facts:
        raise without(FORCES)
    if RECRUITMENT in facts:
        check_holds(run, spec)
    check_balanced_of_person(run)


def check_balanced_of_person(run: RunConfig) -> None:
    """Raise ConfigError if force-dependent kinematics of a person's legs cannot be computed with the settings
    of a run.

    If the trial decides later which legs are modelled, the settings are checked for one leg and for both.
    """
    from rtsim.models.load import load_model, model_for

    faults = []
    for model in dict.fromkeys(model_for(run.model, side) for side in ([run.side] if run.side else SIDES)):
        try:
            check_balanced(run, load_model(model))
        except ConfigError as error:
            faults.append(error)
        else:
            return
    raise faults[0]


SIDES = ("right", "both")
"""Sides for which the checks are made if only the trial shows which legs are modelled."""


def check_balanced(run: RunConfig, spec: ModelSpec) -> None:
    """Raise ConfigError if force-dependent kinematics of the model cannot be computed with the settings of a
    run.

    If the model needs a person's anatomy, it is built with the example subject that is part of rtsim, as
    names do not depend on the subject.
    """
    from rtsim.methods.fdk.fdk import check, held_of
    from rtsim.methods.fdk.fdk_coordinates import with_coordinates
    from rtsim.methods.fdk.joint_forces import check_joints
    from rtsim.methods.kinematics.choice import method_of
    from rtsim.models.model import build
    from rtsim.models.roles import roles_of
    from rtsim.simulation.drivers import check_drivers
    from rtsim.subjects.both_sides import stand_in

    method, subject = method_of(run, spec), stand_in(spec)
    model, roles = build(spec, subject, method), roles_of(spec, method, subject)
    model, roles = with_coordinates(model, roles, run.fdk.dofs)
    check(model, roles, run.fdk, run.recruitment or RecruitmentSpec())
    if run.fdk.drivers:
        check_drivers(model, run.fdk.drivers)
    check_joints(run.fdk.joints, model, held_of(model, roles, run.fdk))


def check_holds(run: RunConfig, spec: ModelSpec) -> None:
    """Raise ConfigError if the method of a run has soft constraints, which transmit no force, so that the
    muscles alone would bear the load along them.
    """
    from rtsim.methods.kinematics.choice import method_of

    method = method_of(run, spec)
    how = spec.methods.get(method)  # of one that the model has not, its own check tells
    if how is not None and how.soft:
        firm = [name for name, one in spec.methods.items() if not one.soft]
        raise ConfigError(
            f"the method {method} has {', '.join(how.soft)} as soft constraints, which transmit no force, so "
            "that the muscles alone would bear the load along them",
            where=RECRUITMENT,
            allowed=f"the methods {', '.join(firm)}"
            if firm
            else "a method that satisfies all constraints exactly, none softly (as a penalty); this model "
                 "has no such method",
            remedy=f"give --method {firm[0]}" if firm else "leave [recruitment] out",
        )  # fmt: skip


def of_person_otherwise() -> ConfigError:
    """Return the error for a run with a person that requests the stage `recruitment`, which is only for
    models with their own markers.
    """
    return ConfigError(
        "for a calibrated person muscles are recruited by the stage fdk (force-dependent kinematics), "
        "together with the balance of forces at the joints",
        where="stages",
        remedy='put "fdk" in place of "recruitment", or leave the key `stages` out',
    )  # fmt: skip


def without_load_of_person() -> ConfigError:
    """Return the error for a run that requests force-dependent kinematics of a person without inverse
    dynamics before it.
    """
    return ConfigError(
        "for a calibrated person the stage fdk (force-dependent kinematics) needs inverse dynamics before "
        "it", where="stages",
        remedy='put "rates", "plates", "inverse_dynamics" before "fdk"; give --forces and --mass',
    )  # fmt: skip
