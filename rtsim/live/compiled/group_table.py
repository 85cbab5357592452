"""Which kernels are called together, and which of these groups a run calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rtsim.live.compiled.group_calls import (
    call_conventional,
    call_coupled,
    call_deviations,
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
    """Kernels that are called together.

    what : in words
    entries : "module.kernel", what Python calls; with what these call, they are the kernels of the group
    call : calls every entry once with arguments of the types in use
    without : kernels that are not called with such types
    """

    what: str
    entries: tuple[str, ...]
    call: Callable[[], None]
    without: tuple[str, ...] = ()


FUNCTIONS = "kernels.algebra.functions.evaluate"
NO_TABLES = (
    "kernels.algebra.functions.cubic_spline",
    "kernels.path.ellipsoid.wrap_ellipsoid",
    *(
        f"kernels.path.wrap.{name}"
        for name in ("some_side_open", "settle", "run_length", "keep", "restore", "write_ends")
    ),
)
"""What a model without splines, ellipsoids and runs of surfaces leaves out."""
NO_MESHES = (
    "kernels.mesh.contact.mesh_contact",
    "kernels.mesh.contact.mesh_stiffness",
    *(f"kernels.mesh.patch.{name}" for name in ("relative_pose", "write_patch", "write_moved")),
)
"""What contacts without surfaces of triangles leave out; those with them compile it when they first run."""
NO_LENGTHS = ("kernels.path.lengths.bend_along",)
"""What is left out where forces decide the length of no path."""
NO_PATHS = (
    *NO_LENGTHS,
    "kernels.path.muscle_path.follow_path",
    "kernels.path.muscle_path.gradient",
    "kernels.path.wrap.place_surfaces",
)
"""What the marker solver leaves out there."""
GENERATOR_CURVES = (
    "kernels.bezier.chain.write_chain",
    *(
        f"kernels.torque_generator.curves.{name}"
        for name in ("angle_knots", "passive_knots", "velocity_knots", "find_shape")
    ),
)
"""What writes the curves of torque generators when a model is built."""
NO_HOLDS = (
    "kernels.dynamics.constrained.drift",
    "kernels.dynamics.constraints.constraint_rows",
    "kernels.dynamics.constraints.constraint_bias",
    "kernels.dynamics.constraint_slopes.element_motion",
    "kernels.dynamics.constraint_slopes.onset_slopes",
    *(
        f"kernels.rosenbrock.holds.{name}"
        for name in ("spread", "spread_active", "choose_rows", "push_back", "press")
    ),
    *(
        f"kernels.rosenbrock.projection.{name}"
        for name in ("project", "largest_gap", "gap_left", "borne", "correction")
    ),
)
"""What a simulation leaves out that holds no constraints."""

DEVIATIONS = (
    "kernels.uncertainty.deviation.deviate",
    "kernels.uncertainty.covariance_factor.columns_in_time",
    "kernels.uncertainty.place_errors.place_deviations",
)

KINEMATICS = (
    "kernels.solver.frame.estimate",
    "kernels.markers.marker_intake.take_in",
    "kernels.algebra.ranges.find_outside",
    "kernels.faults.stepped.find_steps",
    "kernels.solver.published_values.show",
)

GROUPS = {
    "solver": KernelGroup(
        "the marker solver",
        KINEMATICS,
        call_solver,
        without=(FUNCTIONS, *NO_PATHS),
    ),
    "deviations": KernelGroup(
        "standard deviations of the marker solver",
        (*DEVIATIONS, *KINEMATICS),
        call_deviations,
        without=(FUNCTIONS, *NO_PATHS),
    ),
    "simulation": KernelGroup(
        "forward simulation",
        (
            "kernels.joints.tree.pose",
            "kernels.joints.tree.integrate",
            "kernels.dynamics.mass.mass_matrix",
            "kernels.dynamics.inverse.inverse_dynamics",
            "kernels.rosenbrock.model.set_constants",
            "kernels.rosenbrock.advance.advance",
        ),
        call_simulation,
        without=(*NO_MESHES, *NO_HOLDS),
    ),
    "model": KernelGroup(
        "the marker solver of models with their own markers",
        (*KINEMATICS, "kernels.joints.tree.pose"),
        call_model,
        without=NO_PATHS,
    ),
    "model-deviations": KernelGroup(
        "standard deviations of models with their own markers",
        (*DEVIATIONS, *KINEMATICS, "kernels.joints.tree.pose"),
        call_model_deviations,
        without=NO_PATHS,
    ),
    "coupled-simulation": KernelGroup(
        "forward simulation with couplers",
        (
            "kernels.joints.tree.pose",
            "kernels.joints.tree.integrate",
            "kernels.dynamics.reduction.reduced_mass",
            "kernels.rosenbrock.model.set_constants",
            "kernels.rosenbrock.advance.advance",
        ),
        call_coupled,
        without=(*NO_MESHES, *NO_HOLDS),
    ),
    "moment-arms": KernelGroup(
        "moment arms",
        ("kernels.path.assembly.assemble", "kernels.path.moment_arms.moment_arms"),
        call_moment_arms,
    ),
    "forces": KernelGroup(
        "force plates and inverse dynamics of live frames",
        (
            "kernels.dynamics.kinetics.joint_kinetics",
            "kernels.uncertainty.kinetic_errors.kinetic_deviations",
            "kernels.rates.butterworth.butterworth",
            "kernels.rates.savitzky_golay.savitzky_golay",
            "kernels.plates.plate_intake.take_in_samples",
            "kernels.algebra.resampling.hold_samples",
            "kernels.algebra.resampling.forget_samples",
            "kernels.algebra.resampling.wrenches_at",
            "kernels.plates.plate_errors.learn_plate_errors",
            "kernels.plates.plate_errors.tell_plates",
            "kernels.plates.plate_contact.contacts",
            "kernels.plates.plate_contact.gather_tare",
            "kernels.plates.plate_contact.settle_tare",
            "kernels.plates.plate_contact.forget_tare",
            "kernels.plates.plate_contact.take_off",
            "kernels.plates.plate_assignment.assign_feet",
            "kernels.plates.plate_assignment.foot_wrenches",
            "kernels.plates.given_assignment.given_wrenches",
            "kernels.plates.given_assignment.tell_given",
            "kernels.plates.standing.may_stand",
            "kernels.markers.foot_lines.draw_feet",
            "kernels.solver.published_values.publish_loads",
        ),
        call_forces,
    ),
    "recruitment": KernelGroup(
        "recruitment of muscles",
        (
            "kernels.muscle.strengths.all_strengths",
            "kernels.recruitment.reactions.reaction_rows",
            "kernels.recruitment.recruit.recruit",
        ),
        call_recruitment,
    ),
    "muscles": KernelGroup(
        "muscles of live frames",
        ("kernels.path.joint_arms.joint_moment_arms",),
        call_muscles,
        without=NO_TABLES,
    ),
    "conventional": KernelGroup(
        "angles of the conventional gait model",
        ("kernels.conventional.leg.conventional_legs",),
        call_conventional,
    ),
}
"""The longest first, so that all end at about one time; of two that share kernels the second begins late."""
ON_DEMAND = {
    "fdk": KernelGroup(
        "force-dependent kinematics",
        (
            "kernels.fdk.newton.find_balance",
            "kernels.joints.tree.pose",
            "kernels.rates.butterworth.butterworth",
            "kernels.rates.savitzky_golay.savitzky_golay",
        ),
        call_fdk,
        without=(*NO_TABLES, *NO_LENGTHS),
    ),
    "torque-generators": KernelGroup(
        "torque generators of live frames",
        ("kernels.torque_generator.needed.needed_activations", *GENERATOR_CURVES),
        call_torque_generators,
    ),
    "torque-generator-fit": KernelGroup(
        "fits of torque generators",
        (
            "kernels.torque_generator.fit.fit",
            "kernels.torque_generator.torque.activations",
            "kernels.torque_generator.torque.torques",
            *GENERATOR_CURVES,
        ),
        call_generator_fit,
    ),
    "held-simulation": KernelGroup(
        "forward simulation under constraints",
        (
            "kernels.joints.tree.pose",
            "kernels.joints.tree.integrate",
            "kernels.dynamics.mass.mass_matrix",
            "kernels.rosenbrock.model.set_constants",
            "kernels.rosenbrock.projection.put_on_constraints",
            "kernels.rosenbrock.advance.advance",
        ),
        call_held,
        without=NO_MESHES,
    ),
    "turned-simulation": KernelGroup(
        "forward simulation of models that torque generators turn",
        (
            "kernels.joints.tree.pose",
            "kernels.joints.tree.integrate",
            "kernels.dynamics.reduction.reduced_mass",
            "kernels.rosenbrock.model.set_constants",
            "kernels.rosenbrock.advance.advance",
        ),
        call_turned,
        without=(*NO_MESHES, *NO_HOLDS),
    ),
    "foot": KernelGroup(
        "contact of the feet",
        (
            "kernels.contact.followed_foot.fit_feet",
            "kernels.contact.followed_foot.follow",
            "kernels.contact.shared_load.share_load",
            "kernels.contact.standing_foot.stand",
            "kernels.contact.standing_foot.press_grid",
        ),
        call_foot,
        without=NO_MESHES,
    ),
    "foot-fit": KernelGroup(
        "identification of a foot's contact",
        (
            "kernels.contact.recorded.recorded_wrenches",
            "kernels.contact.recorded.recorded_derivatives",
            "kernels.contact.pressure_misfit.pressure_misfit",
        ),
        call_foot_fit,
        without=NO_MESHES,
    ),
}
"""What few runs call; `rtsim warmup` leaves it to them."""
ALL = {**GROUPS, **ON_DEMAND}
LIVE = ("solver", "deviations", "muscles")


def group_of_simulation(spec: ModelSpec) -> str:
    """What a simulation of a model calls."""
    if spec.held:
        return "held-simulation"
    if spec.torque_generators is not None:
        return "turned-simulation"
    return "coupled-simulation" if spec.couplers else "simulation"


def groups_of(run: RunConfig) -> tuple[str, ...]:
    """What a run calls of a frame."""
    from rtsim.live.forces import has_forces
    from rtsim.models.load import load_model

    spec = load_model(run.model)
    forces = ("forces",) if has_forces(run) or "ground_reaction" in run.stages else ()
    balanced = [name for name, stage in (("fdk", "fdk"), ("foot", "foot_contact")) if stage in run.stages]
    if not brings_markers(run, spec):
        return (*balanced, *LIVE, *forces)
    muscles = ("moment-arms",) if spec.muscles else ()
    recruited = ("recruitment",) if spec.muscles and run.recruitment is not None else ()
    turned = ("torque-generators",) if spec.torque_generators is not None and forces else ()
    return (*balanced, "model", "model-deviations", *muscles, *recruited, *turned, *forces)
