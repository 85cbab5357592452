"""The kernels of each group of rtsim/live/compiled/group_table.py: those that Python calls, and those that
need not be compiled.

They are in a module of their own because importing them takes a second. A start without compilation does not
import them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kernels.algebra.functions import cubic_spline, evaluate
from kernels.algebra.ranges import find_outside
from kernels.algebra.resampling import forget_samples, hold_samples, wrenches_at
from kernels.bezier.chain import write_chain
from kernels.contact.followed_foot import fit_feet, follow
from kernels.contact.pressure_misfit import pressure_misfit
from kernels.contact.recorded import recorded_derivatives, recorded_wrenches
from kernels.contact.shared_load import share_load
from kernels.contact.standing_foot import press_grid, stand
from kernels.conventional.leg import conventional_legs
from kernels.dynamics.constrained import drift
from kernels.dynamics.constraint_slopes import element_motion, onset_slopes
from kernels.dynamics.constraints import constraint_bias, constraint_rows
from kernels.dynamics.energy import energy_and_power
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.kinetics import joint_kinetics
from kernels.dynamics.mass import mass_matrix
from kernels.dynamics.reduction import reduced_mass
from kernels.faults.apart import find_apart
from kernels.faults.calibrated import find_misplaced
from kernels.faults.late import find_late
from kernels.faults.smoothed import find_smoothed
from kernels.faults.stepped import find_steps
from kernels.faults.turned import find_turned
from kernels.fdk.newton import find_balance
from kernels.joints.tree import integrate, pose
from kernels.markers.foot_lines import draw_feet
from kernels.markers.marker_intake import take_in
from kernels.mesh.contact import mesh_contact, mesh_stiffness
from kernels.mesh.patch import relative_pose, write_moved, write_patch
from kernels.muscle.strengths import all_strengths
from kernels.path.assembly import assemble
from kernels.path.ellipsoid import wrap_ellipsoid
from kernels.path.joint_arms import joint_moment_arms
from kernels.path.lengths import bend_along
from kernels.path.moment_arms import moment_arms
from kernels.path.muscle_path import follow_path, gradient
from kernels.path.wrap import keep, place_surfaces, restore, run_length, settle, some_side_open, write_ends
from kernels.plates.given_assignment import given_wrenches, tell_given
from kernels.plates.plate_assignment import assign_feet, foot_wrenches
from kernels.plates.plate_contact import contacts, forget_tare, gather_tare, settle_tare, take_off
from kernels.plates.plate_errors import learn_plate_errors, tell_plates
from kernels.plates.plate_intake import take_in_samples
from kernels.plates.standing import may_stand
from kernels.rates.butterworth import butterworth
from kernels.rates.savitzky_golay import savitzky_golay
from kernels.recruitment.reactions import reaction_rows
from kernels.recruitment.recruit import recruit
from kernels.rosenbrock.advance import advance
from kernels.rosenbrock.holds import choose_rows, press, push_back, spread, spread_active
from kernels.rosenbrock.model import set_constants
from kernels.rosenbrock.projection import (
    borne,
    correction,
    gap_left,
    largest_gap,
    project,
    put_on_constraints,
)
from kernels.sensors.comparison import compare
from kernels.solver.frame import estimate
from kernels.solver.published_values import publish_loads, show
from kernels.torque_generator.curves import angle_knots, find_shape, passive_knots, velocity_knots
from kernels.torque_generator.fit import fit
from kernels.torque_generator.needed import needed_activations
from kernels.torque_generator.torque import activations, torques
from kernels.uncertainty.covariance_factor import columns_in_time
from kernels.uncertainty.deviation import deviate
from kernels.uncertainty.kinetic_errors import kinetic_deviations
from kernels.uncertainty.place_errors import place_deviations

Kernels = tuple[Callable[..., Any], ...]


class GroupKernels(NamedTuple):
    """Kernels that are called together.

    entries : kernels that Python calls; the group consists of these and all kernels that they call
    without : kernels that the entries call in the source, but never with the argument types in use; they are
      not compiled
    """

    entries: Kernels
    without: Kernels = ()


NO_TABLES: Kernels = (
    cubic_spline,
    wrap_ellipsoid,
    some_side_open,
    settle,
    run_length,
    keep,
    restore,
    write_ends,
)
"""Kernels that are not compiled for a model without splines, ellipsoids and paths over several surfaces."""
NO_MESHES: Kernels = (mesh_contact, mesh_stiffness, relative_pose, write_patch, write_moved)
"""Kernels that are not compiled for contacts without triangle meshes; models with meshes compile them when
they first run."""
NO_LENGTHS: Kernels = (bend_along,)
"""Kernels that are not compiled if no path's length depends on forces."""
NO_PATHS: Kernels = (*NO_LENGTHS, follow_path, gradient, place_surfaces)
"""Kernels that are not compiled with the marker solver of a model without paths."""
GENERATOR_CURVES: Kernels = (write_chain, angle_knots, passive_knots, velocity_knots, find_shape)
"""Kernels that write the curves of torque generators when a model is built."""
NO_HOLDS: Kernels = (
    drift,
    constraint_rows,
    constraint_bias,
    element_motion,
    onset_slopes,
    spread,
    spread_active,
    choose_rows,
    push_back,
    press,
    project,
    largest_gap,
    gap_left,
    borne,
    correction,
)
"""Kernels that are not compiled for a simulation without constraints."""
DEVIATIONS: Kernels = (deviate, columns_in_time, place_deviations)
KINEMATICS: Kernels = (
    estimate,
    take_in,
    find_misplaced,
    find_turned,
    find_apart,
    find_late,
    find_smoothed,
    find_outside,
    find_steps,
    show,
)
KERNELS = {
    "solver": GroupKernels((*KINEMATICS,), without=(evaluate, *NO_PATHS)),
    "deviations": GroupKernels((*DEVIATIONS, *KINEMATICS), without=(evaluate, *NO_PATHS)),
    "simulation": GroupKernels(
        (pose, integrate, mass_matrix, inverse_dynamics, set_constants, advance),
        without=(*NO_MESHES, *NO_HOLDS),
    ),
    "model": GroupKernels((*KINEMATICS, pose), without=(*NO_PATHS,)),
    "model-deviations": GroupKernels((*DEVIATIONS, *KINEMATICS, pose), without=(*NO_PATHS,)),
    "coupled-simulation": GroupKernels(
        (pose, integrate, reduced_mass, set_constants, advance), without=(*NO_MESHES, *NO_HOLDS)
    ),
    "moment-arms": GroupKernels((assemble, moment_arms)),
    "forces": GroupKernels(
        (
            joint_kinetics,
            kinetic_deviations,
            butterworth,
            savitzky_golay,
            take_in_samples,
            hold_samples,
            forget_samples,
            wrenches_at,
            learn_plate_errors,
            tell_plates,
            contacts,
            gather_tare,
            settle_tare,
            forget_tare,
            take_off,
            assign_feet,
            foot_wrenches,
            given_wrenches,
            tell_given,
            may_stand,
            draw_feet,
            publish_loads,
        )
    ),
    "recruitment": GroupKernels((all_strengths, reaction_rows, recruit)),
    "muscles": GroupKernels((joint_moment_arms,), without=(*NO_TABLES,)),
    "conventional": GroupKernels((conventional_legs,)),
    "fdk": GroupKernels((find_balance, pose, butterworth, savitzky_golay), without=(*NO_TABLES, *NO_LENGTHS)),
    "torque-generators": GroupKernels((*GENERATOR_CURVES, needed_activations)),
    "torque-generator-fit": GroupKernels((*GENERATOR_CURVES, fit, activations, torques)),
    "held-simulation": GroupKernels(
        (pose, integrate, mass_matrix, set_constants, put_on_constraints, advance), without=(*NO_MESHES,)
    ),
    "turned-simulation": GroupKernels(
        (pose, integrate, reduced_mass, set_constants, advance), without=(*NO_MESHES, *NO_HOLDS)
    ),
    "energy": GroupKernels((advance, energy_and_power), without=(*NO_MESHES, *NO_HOLDS)),
    "sensors": GroupKernels((compare,)),
    "foot": GroupKernels((fit_feet, follow, share_load, stand, press_grid), without=(*NO_MESHES,)),
    "foot-fit": GroupKernels(
        (recorded_wrenches, recorded_derivatives, pressure_misfit), without=(*NO_MESHES,)
    ),
}
"""Kernels of each group, by its name."""
