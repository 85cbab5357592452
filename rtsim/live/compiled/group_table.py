"""Groups of kernels, and the groups that a run calls. A group has the kernels that one task of a run needs,
such as forward simulation; each group is compiled in a process of its own, so that several are compiled at
the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rtsim.live.compiled.group_calls import (
    call_conventional,
    call_coupled,
    call_deviations,
    call_energy,
    call_fdk,
    call_foot,
    call_foot_fit,
    call_forces,
    call_generator_fit,
    call_held,
    call_model,
    call_model_deviations,
    call_moment_arms,
    call_muscles,
    call_recruitment,
    call_sensors,
    call_simulation,
    call_solver,
    call_torque_generators,
    call_turned,
)
from rtsim.live.inputs.sources import brings_markers

if TYPE_CHECKING:
    from rtsim.config.models.model_schema import ModelSpec
    from rtsim.config.runs.run_schema import RunConfig


class KernelGroup(NamedTuple):
    """A group of kernels that one task of a run needs. rtsim/live/compiled/group_kernels.py lists its kernels
    under the same name.

    what : description of the group
    call : function that compiles them: it calls each kernel that Python calls directly once, with arguments
        of the types in use
    """

    what: str
    call: Callable[[], None]


GROUPS = {
    "solver": KernelGroup("the marker solver", call_solver),
    "deviations": KernelGroup("standard deviations of the marker solver's results", call_deviations),
    "simulation": KernelGroup("forward simulation", call_simulation),
    "model": KernelGroup("the marker solver of models with their own markers", call_model),
    "model-deviations": KernelGroup(
        "standard deviations of the results for models with their own markers", call_model_deviations
    ),
    "coupled-simulation": KernelGroup("forward simulation with coupled coordinates", call_coupled),
    "moment-arms": KernelGroup("moment arms", call_moment_arms),
    "forces": KernelGroup("force plates and inverse dynamics of live frames", call_forces),
    "recruitment": KernelGroup("recruitment of muscles", call_recruitment),
    "muscles": KernelGroup("muscles of live frames", call_muscles),
    "conventional": KernelGroup("angles of the conventional gait model", call_conventional),
}
"""Groups of kernels, those that take longest to compile first, so that all end at about the same time; of two
that share kernels the second begins late."""
ON_DEMAND = {
    "fdk": KernelGroup("force-dependent kinematics", call_fdk),
    "torque-generators": KernelGroup("torque generators of live frames", call_torque_generators),
    "torque-generator-fit": KernelGroup("fits of torque generators", call_generator_fit),
    "held-simulation": KernelGroup("forward simulation under constraints", call_held),
    "turned-simulation": KernelGroup("forward simulation of models with torque generators", call_turned),
    "energy": KernelGroup("the energy monitor of a limb with a device", call_energy),
    "sensors": KernelGroup("checks of a device's sensors", call_sensors),
    "foot": KernelGroup("contact of the feet", call_foot),
    "foot-fit": KernelGroup("fit of foot contact parameters", call_foot_fit),
}
"""Groups that few runs call; `rtsim warmup` leaves them out."""
ALL = {**GROUPS, **ON_DEMAND}


def group_of_simulation(spec: ModelSpec) -> str:
    """Return the name of the group of kernels that a simulation of a model calls."""
    if spec.held:
        return "held-simulation"
    if spec.torque_generators is not None:
        return "turned-simulation"
    return "coupled-simulation" if spec.couplers else "simulation"


def groups_of_limb(spec: ModelSpec) -> tuple[str, ...]:
    """Return the names of the groups of kernels that `rtsim hil` calls to simulate a limb with a device. They
    are compiled one after the other, as they share kernels.
    """
    group = group_of_simulation(spec)
    return (group, *(("energy",) if group == "coupled-simulation" else ()), "sensors")


def groups_of(run: RunConfig) -> tuple[str, ...]:
    """Return the names of the groups of kernels that a run calls for a frame."""
    from rtsim.live.forces import has_forces
    from rtsim.models.load import load_model
    from rtsim.stages.building.declaration import facts_of
    from rtsim.stages.building.find import groups_of_stages

    spec, forces = load_model(run.model), has_forces(run)
    facts = facts_of(run, spec, own_markers=brings_markers(run, spec), forces=forces)
    called = groups_of_stages(run, facts) | ({"forces"} if forces else set())
    return tuple(name for name in (*ON_DEMAND, *GROUPS) if name in called)
