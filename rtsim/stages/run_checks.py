"""What a run asks of muscles and joints, held against its stages and its model by names alone.

A wrong name is told before anything is compiled, which takes a minute at the first start.
"""

from __future__ import annotations

from rtsim.config.models.model_names import coordinate_names
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError

RECRUITED, BALANCED = "recruitment", "fdk"
REST = "usual"
"""In the stages of a run: all usual ones that it does not name, which have something to do."""
"""The stages that share the load among muscles, the second by itself."""
LOADS = "inverse_dynamics"


def check_run(run: RunConfig, spec: ModelSpec, *, of_model: bool, forces: bool) -> None:
    """ConfigError for a table [recruitment] or [fdk] that does nothing, or names what the model has not.

    of_model : whether the run follows the model's own markers; forces : whether it has force plates
    """
    if run.fdk != FdkSpec() and BALANCED not in run.stages:
        raise ConfigError(
            "the table does nothing, as no stage balances joints", where=BALANCED,
            remedy='give stages = ["kinematics", "fdk"], or leave [fdk] out',
        )  # fmt: skip
    if RECRUITED in run.stages and LOADS not in run.stages[: run.stages.index(RECRUITED)]:
        raise ConfigError(
            f"{RECRUITED!r} needs {LOADS!r} before it", where="stages",
            remedy=f"put {LOADS!r}, and what that needs, before {RECRUITED!r}, or leave stages out",
        )  # fmt: skip
    if run.recruitment is not None:
        check_recruited(run, spec, of_model, forces)
    if BALANCED in run.stages:
        if not of_model and LOADS not in run.stages[: run.stages.index(BALANCED)]:
            raise without_load_of_person()
        if not of_model and not forces:
            raise without("force plates", "--forces")
    if BALANCED in run.stages or (run.recruitment is not None and not of_model):
        check_balanced_of(run, spec, of_model)


def check_recruited(run: RunConfig, spec: ModelSpec, of_model: bool, forces: bool) -> None:
    """ConfigError where no stage shares a load among muscles, and for reserves of what is no coordinate."""
    from rtsim.methods.muscles.recruitment import check_reserves

    assert run.recruitment is not None
    if run.stages and not {RECRUITED, BALANCED, REST} & {*run.stages}:
        raise ConfigError(
            "the table does nothing, as none of the stages recruits muscles", where=RECRUITED,
            remedy='add "recruitment" to stages, or leave [recruitment] out',
        )  # fmt: skip
    if not of_model and RECRUITED in run.stages:
        raise of_person_otherwise()
    if not of_model:
        check_holds(run, spec)
    if not forces and LOADS in (run.stages or (LOADS,)):
        raise without_load()
    if not of_model or (BALANCED in run.stages and RECRUITED not in run.stages):
        return  # whose check knows all speeds by name
    check_reserves(run.recruitment, (*coordinate_names(spec), *(angle.name for angle in spec.angles)))


def check_balanced_of(run: RunConfig, spec: ModelSpec, of_model: bool) -> None:
    """ConfigError for what the balance cannot have, of the legs that the run follows, where it says which."""
    from rtsim.models.load import load_model, model_for

    if of_model:
        check_balanced(run, spec)
    elif run.side or model_for(run.model, "both") == run.model:
        check_balanced(run, load_model(model_for(run.model, run.side)))


def check_balanced(run: RunConfig, spec: ModelSpec) -> None:
    """ConfigError for what the balance of the model's joints cannot have.

    A model that needs a person's anatomy is built with the shipped subject, as names are the same.
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
    """ConfigError for a person's joints by a method whose soft elements bear nothing."""
    from rtsim.methods.kinematics.choice import method_of

    method = method_of(run, spec)
    how = spec.methods.get(method)  # of one that the model has not, its own check tells
    if how is not None and how.soft:
        firm = [name for name, one in spec.methods.items() if not one.soft]
        raise ConfigError(
            f"{', '.join(how.soft)} are soft in the method {method}, so that only muscles would bear the "
            "load along them",
            where=RECRUITED, allowed=f"methods {', '.join(firm) or 'none'}",
            remedy=f"give --method {firm[0]}" if firm else "leave [recruitment] out",
        )  # fmt: skip


def of_person_otherwise() -> ConfigError:
    """The stage of models with their own markers asked for with a person."""
    return ConfigError(
        "a person's muscles are recruited where the joints are balanced", where="stages",
        remedy='put "fdk" in place of "recruitment", or leave stages out',
    )  # fmt: skip


def without(what: str, option: str) -> ConfigError:
    """Stages of plates asked for in a run that lacks something; what : in words, given by the option."""
    return ConfigError(
        f"its stages need {what}, and this run has none", where="stages",
        remedy=f"give {option}, or leave stages out",
    )  # fmt: skip


def without_load_of_person() -> ConfigError:
    """The balance of a person's joints asked for without inverse dynamics before it."""
    return ConfigError(
        "the joints of a person are balanced where inverse dynamics come before", where="stages",
        remedy='put "rates", "plates", "inverse_dynamics" before "fdk"; give --forces and --mass',
    )  # fmt: skip


def without_load() -> ConfigError:
    """Recruitment asked for without moments or muscles."""
    return ConfigError(
        "muscles can be recruited where inverse dynamics tells the load, and the model has muscles",
        where=RECRUITED,
        remedy="give --forces and a model with masses and muscles, or leave [recruitment] out",
    )
