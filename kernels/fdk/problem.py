"""The problem of force-dependent kinematics (FDK), its state and its results.

Some constraints of a model, the FDK degrees of freedom, have a value that depends on forces: Phi(q) = alpha,
and alpha is found such that no force is needed to keep it, f(alpha) = 0 (Andersen et al. 2017, eq. 1 and
figure 1). For an angle, alpha is the arc length at a given lever, in metres, and f is the moment divided by
that lever, in newtons. For a given alpha the motion follows from markers, the load from the motion, and
muscles and reactions from the load; the remaining load along the FDK degrees of freedom is f, positive where
Phi must be pushed up to keep its value.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, Integers, allocate
from kernels.dynamics.constraints import Constraints, ConstraintWork, new_constraint_work
from kernels.dynamics.derivatives import DerivativeWork, new_derivative_work
from kernels.dynamics.system import DynamicsWork, System, new_dynamics_work
from kernels.fdk.bands import Bands, n_band_of, new_band_work
from kernels.forces.assembly import ForceElements, ForceWork, new_force_work
from kernels.markers.marker_cost import MarkerWork, new_marker_work
from kernels.muscle.hill import Muscles
from kernels.path.lengths import new_length_work
from kernels.path.muscle_path import PathWork, new_path_work, wraps_in_closed_form
from kernels.path.stations import Stations
from kernels.path.surfaces import Surfaces
from kernels.recruitment.problem import (
    Recruitment,
    RecruitmentOptions,
    RecruitmentOut,
    RecruitmentState,
    RecruitmentWork,
    new_recruitment,
)
from kernels.solver.kkt import SolverOptions
from kernels.solver.optimality import FrameProblem, Work, new_work
from kernels.uncertainty.sensitivity import OneAnswer, new_one_answer

BALANCED, NOT_BALANCED, NOT_BORNE, NOT_PLACED, NOT_RECRUITED = 0, 1, 2, 3, 4
"""Status. BALANCED: f is 0 within the tolerance; NOT_BALANCED: it is not; NOT_BORNE: it is, but muscles
balance only a part of the load; NOT_PLACED: no pose or no speeds are found, as where markers are missing or
where drivers and rows of constraints are not as many as dofs; NOT_RECRUITED: no activations are found."""


class FdkModel(NamedTuple):
    """A model with FDK degrees of freedom (constraints whose values follow from a balance of forces), and the
    markers and external forces of the current frame.
    """

    system: System
    fit: (
        FrameProblem  # markers, drivers and elements; its targets, measured, weight, hold, q_hold are written
    )
    constraints: Constraints  # the same elements and roles, and couplers
    forces: ForceElements
    stations: Stations
    surfaces: Surfaces
    muscles: Muscles
    acting: np.ndarray  # (n_muscle,) int64 - muscles that have a force
    borne: np.ndarray  # (n_borne,) int64 - dofs whose load muscles and reactions balance
    held: np.ndarray  # (n_held,) int64 - rows of constraints that can push and pull
    fdk: np.ndarray  # (n_fdk,) int64 - which of these are FDK degrees of freedom
    element: np.ndarray  # (n_fdk,) int64 - their elements
    rest: np.ndarray  # (n_fdk,) - of these: targets at alpha = 0 [m, rad]
    rate: np.ndarray  # (n_fdk,) - and their slopes along alpha: 1, of angles 1 / lever [1/m]
    pushing: np.ndarray  # (n_reaction,) int64 - rows of constraints that act one way
    strength: np.ndarray  # (n_reaction,) - of these, below 0 where they pull [N]
    reserved: np.ndarray  # (n_reserve,) int64 - which of `borne` have an actuator of their own, both ways
    reserve: np.ndarray  # (n_reserve,) - what these do at activation 1 [N m, N]
    external: np.ndarray  # (n_body, 6) - of plates: moment about ground's origin [N m], force [N]
    velocity: np.ndarray  # (n_marker, 3) - of the markers in the frame [m/s]
    acceleration: np.ndarray  # (n_marker, 3) [m/s^2]
    hold_velocity: np.ndarray  # (n_v,) - of the drivers, where fit.hold is not 0 [rad/s, m/s]
    hold_acceleration: np.ndarray  # (n_v,) [rad/s^2, m/s^2]
    isometric: bool = False  # strengths are those at rest at optimal length, without passive force
    of_optimum: bool = False  # rates are those of the optimum; else of least squares (kernels/fdk/rates)
    bands: Bands | None = None  # ligaments along paths; None where there are none


class FdkOptions(NamedTuple):
    """Settings of the search for the equilibrium in force-dependent kinematics (FDK)."""

    fit: SolverOptions  # of the pose
    tolerance: float  # of |f| [N]
    n_iteration: int  # at most
    longest: float  # step of alpha [m]
    difference: float  # step of the difference Jacobian [m]; 0 = the analytic one
    smooth: float  # step of the differences that the analytic one takes of smooth parts [m]


class FdkState(NamedTuple):
    """Solution of the last frame of force-dependent kinematics, from which the search in the next frame
    starts.
    """

    alpha: Annotated[np.ndarray, Floats("n_fdk")]  # [m]
    q: np.ndarray  # (n_q,)
    multiplier: Annotated[np.ndarray, Floats("n_element")]  # of the fit
    J: Annotated[np.ndarray, Floats("n_fdk", "n_fdk")]  # df/dalpha [N/m]
    known: Annotated[np.ndarray, Integers(1)]  # 1 = J is that of the last frame's solution


class Smooth(NamedTuple):
    """Quantities of force-dependent kinematics that vary smoothly with the pose: motion, load, strengths of
    muscles, and tensions of ligaments along paths.

    Forces of contacts and of straight ligaments, and muscle activations, need not vary smoothly. They are
    stored in FdkWork.forces and FdkWork.balance.
    """

    v: Annotated[np.ndarray, Floats("n_v")]
    v_dot: Annotated[np.ndarray, Floats("n_v")]
    tau: Annotated[np.ndarray, Floats("n_v")]  # of inverse dynamics [N, N m]
    # of muscles, reactions, reserves at full strength [N, N m]
    action: Annotated[np.ndarray, Floats("n_element", "n_borne")]
    demand: Annotated[np.ndarray, Floats("n_borne")]  # load less passive forces of muscles and ligaments
    row: Annotated[np.ndarray, Floats("n_held", "n_borne")]  # of the constraints that can push and pull
    length: Annotated[np.ndarray, Floats("n_muscle")]  # [m]
    speed: Annotated[np.ndarray, Floats("n_muscle")]  # [m/s]
    strength: Annotated[np.ndarray, Floats("n_muscle")]  # [N]
    passive: Annotated[np.ndarray, Floats("n_muscle")]  # [N]
    tension: Annotated[np.ndarray, Floats("n_band")]  # of ligaments along paths [N]


class MuscleBalance(NamedTuple):
    """Activations of the recruited muscles, one-way reactions and reserves (elements), and reactions of
    constraints, which together balance a load; and the matrix of their conditions of optimality."""

    load: Annotated[np.ndarray, Floats("n_borne")]  # what they balance
    activation: Annotated[np.ndarray, Floats("n_element")]
    multiplier: Annotated[np.ndarray, Floats("n_borne")]  # of the rows of the load
    reaction: Annotated[np.ndarray, Floats("n_held")]  # along the rows [N, N m]
    free: Annotated[np.ndarray, Integers("n_element")]  # 1 = between its bounds
    bend: Annotated[np.ndarray, Floats("n_element")]  # second derivative of the criterion
    # orthonormal: along the held rows first, then across all of them
    basis: Annotated[np.ndarray, Floats("n_borne", "n_borne")]
    K: Annotated[np.ndarray, Floats("n_borne + n_held", "n_borne + n_held")]  # factor of the conditions
    pivot: Annotated[np.ndarray, Integers("n_borne + n_held")]
    rhs: Annotated[np.ndarray, Floats("n_borne + n_held")]


class FdkWork(NamedTuple):
    """Working space of force-dependent kinematics for one frame, with intermediate results at the pose."""

    fit: Work
    dynamics: DynamicsWork
    marker: MarkerWork
    constraint: ConstraintWork
    forces: ForceWork
    derivatives: DerivativeWork
    path: PathWork
    bands: PathWork | None
    at: Smooth  # at the pose
    near: Smooth  # at a pose close to it, for differences
    beside: Smooth  # at a pose on the other side
    balance: MuscleBalance
    drift: Annotated[np.ndarray, Floats("n_body", 6)]
    pull: Annotated[np.ndarray, Floats("n_body", 6)]  # of the markers' rates
    P: Annotated[np.ndarray, Floats("n_v", "n_v")]  # factor of the markers' weights as masses
    Y: Annotated[np.ndarray, Floats("n_row", "n_v")]
    S: Annotated[np.ndarray, Floats("n_row", "n_row")]
    mu: Annotated[np.ndarray, Floats("n_row")]
    g: Annotated[np.ndarray, Floats("n_v")]
    point: Annotated[np.ndarray, Floats(2, 3)]
    kept: Annotated[np.ndarray, Floats(2, "n_marker", 3)]  # measured and velocity of the frame
    answer: OneAnswer  # of the optimum's speeds
    tau_e: Annotated[np.ndarray, Floats("n_v")]  # of contacts, ligaments and springs
    tau_q: Annotated[np.ndarray, Floats("n_v", "n_v")]
    tau_v: Annotated[np.ndarray, Floats("n_v", "n_v")]
    follow: Annotated[np.ndarray, Floats("n_v", "n_v")]  # unit vectors, then a scratch
    way: Annotated[np.ndarray, Floats("n_element", "n_v")]  # dq/dalpha
    q_near: Annotated[np.ndarray, Floats("n_q")]
    q_moved: Annotated[np.ndarray, Floats("n_q")]
    factor: Annotated[np.ndarray, Floats("n_fdk", "n_fdk")]
    pivot: Annotated[np.ndarray, Integers("n_fdk")]
    step: Annotated[np.ndarray, Floats("n_fdk")]
    # f of differences; alpha before a step, and before the flow
    trial: Annotated[np.ndarray, Floats(3, "n_fdk")]


class FdkOut(NamedTuple):
    """Result of the search for the equilibrium of a frame: the remaining force f, its size, and the number of
    evaluations. Activations, reactions and the motion are in FdkWork.at and balance.
    """

    residual: Annotated[np.ndarray, Floats("n_fdk", fill=math.nan)]  # f [N]
    size: Annotated[np.ndarray, Floats(1, fill=math.nan)]  # |f| [N]
    evaluations: Annotated[np.ndarray, Integers(1)]


class RowRecruitment(NamedTuple):
    """The optimisation problem of muscle recruitment for the part of the load that is orthogonal to the
    constraint rows."""

    problem: Recruitment
    options: RecruitmentOptions
    state: RecruitmentState
    work: RecruitmentWork
    out: RecruitmentOut


def n_element_of(joint: FdkModel) -> int:
    """Return the number of elements of recruitment: muscles that have a force, reactions that act one way,
    and reserve actuators, each in both directions.
    """
    return len(joint.acting) + len(joint.pushing) + 2 * len(joint.reserved)


def new_smooth(joint: FdkModel) -> Smooth:
    """Allocate a Smooth: motion, load, muscles and ligaments of an FdkModel at a pose."""
    return allocate(
        Smooth,
        n_v=len(joint.fit.hold),
        n_element=n_element_of(joint),
        n_borne=len(joint.borne),
        n_held=len(joint.held),
        n_muscle=len(joint.muscles.elastic),
        n_band=n_band_of(joint.bands),
    )


def new_balance(joint: FdkModel) -> MuscleBalance:
    """Allocate a MuscleBalance: activations and reactions that balance the load."""
    n_borne, n_held = len(joint.borne), len(joint.held)
    return allocate(MuscleBalance, n_borne=n_borne, n_element=n_element_of(joint), n_held=n_held)


def new_fdk_work(joint: FdkModel) -> FdkWork:
    """Allocate an FdkWork: working space of one frame."""
    tree = joint.system.tree
    n_body, n_v, n_q = len(tree.parent), len(tree.dof_body), int(tree.q_start[-1])
    n_marker, (n_element, n_path) = len(joint.fit.markers.body), joint.fit.elements.path.shape
    n_fdk, n_motion = len(joint.fdk), len(tree.chains.dof)
    constraint = new_constraint_work(joint.constraints, n_v, tree)
    lengths = new_length_work(joint.fit.elements.lengths, tree)
    # with bands or lengths of paths, which are rare, one form for all: each form is a minute of compiling
    closed = lengths is None and joint.bands is None and wraps_in_closed_form(joint.stations, joint.surfaces)
    n_row = len(constraint.value)
    return allocate(
        FdkWork,
        n_body=n_body,
        n_v=n_v,
        n_row=n_row,
        n_marker=n_marker,
        n_element=n_element,
        n_q=n_q,
        n_fdk=n_fdk,
        fit=new_work(n_body, n_q, n_v, n_marker, n_element, n_path, n_motion, lengths),
        dynamics=new_dynamics_work(tree),
        marker=new_marker_work(n_marker, n_body),
        constraint=constraint,
        forces=new_force_work(joint.forces, tree),
        derivatives=new_derivative_work(tree),
        path=new_path_work(joint.stations, joint.surfaces, n_v, closed),
        bands=new_band_work(joint.bands, n_v),
        at=new_smooth(joint),
        near=new_smooth(joint),
        beside=new_smooth(joint),
        balance=new_balance(joint),
        answer=new_one_answer(n_v, n_element),
    )


def new_fdk_state(joint: FdkModel, q: np.ndarray) -> FdkState:
    """Allocate an FdkState that starts at the coordinates q : (n_q,), with all FDK degrees of freedom alpha
    at 0.
    """
    n = len(joint.fdk)
    return allocate(FdkState, n_fdk=n, n_element=len(joint.fit.elements.kind), q=q.copy())


def new_fdk_out(joint: FdkModel) -> FdkOut:
    """Allocate an FdkOut: the result of force-dependent kinematics (FDK) in a frame."""
    return allocate(FdkOut, n_fdk=len(joint.fdk))


def new_sharing(joint: FdkModel, options: RecruitmentOptions) -> RowRecruitment:
    """Return the problem and working space of muscle recruitment for the muscles, one-way reactions and
    reserve actuators of a model, all with the same weight; reserve actuators have no upper bound.
    """
    n_row, most = len(joint.borne) - len(joint.held), np.ones(n_element_of(joint))
    most[len(joint.acting) + len(joint.pushing) :] = math.inf
    return RowRecruitment(*new_recruitment(np.ones(len(most)), most, n_row, options))
