"""Force-dependent kinematics: inverse dynamics with muscle recruitment in which forces determine the joint
positions, frame by frame.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.fdk.bands import Bands
from kernels.fdk.newton import find_balance
from kernels.fdk.problem import (
    FdkModel,
    FdkOptions,
    new_fdk_out,
    new_fdk_state,
    new_fdk_work,
    new_sharing,
)
from kernels.joints.tree import new_pose, pose
from kernels.recruitment.problem import RecruitmentOptions
from kernels.solver.constraints import AZIMUTH, ELEVATION, HARD, SPHERE_ON_PLANE, Roles
from kernels.solver.kkt import SolverOptions
from kernels.solver.optimality import FrameProblem
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import ConfigError
from rtsim.methods.fdk.fdk_borne import worked_on
from rtsim.methods.fdk.fdk_coordinates import possible, with_coordinates
from rtsim.methods.fdk.fdk_paths import check_starts, from_neutral
from rtsim.methods.fdk.fdk_rows import check_borne, check_enough_borne, check_rows
from rtsim.methods.muscles.recruitment import GAP, N_ITERATION, RESIDUAL, check_reserves
from rtsim.models.entries import coordinate_names, turning
from rtsim.models.model import Model
from rtsim.models.packing.path_forces import paths_of

Array = NDArray[np.float64]

FIT = SolverOptions(tolerance=1e-11, max_iterations=60, max_step=0.5)
SMOOTH = 2e-6
"""Step of the differences by which smooth functions of alpha are differentiated [m]; truncation and rounding
are both some 1e-9 of the derivatives."""


class ForceDependentKinematics:
    """Force-dependent kinematics (FDK): pose, muscle forces and joint forces in equilibrium, for one frame
    after the other.

    Parameters
    ----------
    model, roles : the model, and which of its elements (scalar constraints between two bodies) the method
        uses; a one-way reaction (only push or only pull) acts unless its element is an FDK degree of freedom
    spec : settings: the FDK degrees of freedom, the tolerance of the residual forces, how their Jacobian is
        computed, and the bodies at whose joints muscles have to balance the load
    recruitment : exponent of the muscle criterion (2 or higher), and reserve actuators of single degrees of
        freedom

    Attributes
    ----------
    alpha : (n_fdk,) values of the FDK degrees of freedom relative to the targets of their elements [m]; for
        an angle the arc, which is the angle times a lever arm
    residual : (n_fdk,) remaining forces along the FDK degrees of freedom [N], zero in equilibrium; for an
        angle the moment divided by that lever arm
    stiffness : (n_fdk, n_fdk) derivatives of the residual forces with respect to alpha [N/m]
    arc : (n_fdk,) change of alpha per unit of the FDK degree of freedom: 1 for a length, the lever arm [m]
        for an angle [rad]
    rotates : (n_fdk,) bool, whether an FDK degree of freedom is an angle
    model : the model with additional elements after its own: one for each coordinate, joint angle and path
        length that is an FDK degree of freedom
    hard : names of the elements that the method keeps as constraints
    held : names of those elements of `hard` that can both push and pull
    freedoms : names of the n_borne joint degrees of freedom whose loads the muscles have to balance
    turns : (n_borne,) bool - whether such a degree of freedom is a rotation, whose load is a moment
    q : (n_q,) coordinates at the solution
    at : record (Smooth of kernels/fdk/problem) of the generalized forces, and of the lengths, speeds and
        strengths of the muscles, at the solution
    activations, forces : (n_muscle,) activations [1], and forces along the tendon [N]
    reactions : (n_held,) forces of the elements `held` [N]
    pushes : (n_reaction,) forces of the one-way reactions [N]
    reserves : (n_reserve,) moments or forces of the reserves [N m, N]
    external : (n_body, 6) moments about ground's origin [N m] and forces [N] of force plates on the bodies;
        the caller writes them before each frame
    iterations, evaluations : numbers of Newton iterations, and of evaluations of the residual forces, in the
        newest frame
    """

    def __init__(
        self,
        model: Model,
        roles: Roles,
        spec: FdkSpec,
        recruitment: RecruitmentSpec | None = None,
    ) -> None:
        model, roles = with_coordinates(model, roles, spec.dofs)
        self.model, self.spec = model, spec
        recruitment = recruitment or RecruitmentSpec()
        check(model, roles, spec, recruitment)
        self.rotates = rotates_of(model, spec)
        self.arc = np.where(self.rotates, 1e-3 * spec.lever_mm, 1.0)
        # of its own, as targets are written
        roles = from_neutral(model, roles)
        roles = roles._replace(target=roles.target.copy(), tasks=None, limits=None)
        self.joint = joint = joint_of(model, roles, spec, recruitment, self.arc)
        self.acting = tuple(model.names.muscles[m] for m in joint.acting)
        self.hard = tuple(model.names.elements[e] for e in np.flatnonzero(roles.mode == HARD))
        self.held = held_of(model, roles, spec)
        speeds = coordinate_names(model)[1]
        self.freedoms = tuple(speeds[d] for d in joint.borne)
        self.turns = turning(model)[joint.borne]
        options = FdkOptions(
            fit=FIT, tolerance=spec.tolerance_N, n_iteration=spec.max_iterations,
            longest=1e-3 * spec.longest_mm,
            difference=1e-3 * spec.difference_mm if spec.jacobian == "difference" else 0.0, smooth=SMOOTH,
        )  # fmt: skip
        sharing = new_sharing(joint, RecruitmentOptions(recruitment.power, N_ITERATION, RESIDUAL, GAP))
        self.sharing, self.options = sharing, options
        self.state, self.work = new_fdk_state(joint, model.q_neutral), new_fdk_work(joint)
        self._first = first_of(spec, self.rotates)
        self.state.alpha[:] = self._first
        self.out = new_fdk_out(joint)
        self._arguments = (joint, options, sharing, self.state, self.work, self.out)
        self._run = bind(find_balance, self._arguments)
        self._pose = new_pose(len(model.names.bodies), model.n_v, len(model.tree.chains.dof))
        self._place = bind(pose, (model.tree, self.state.q, self._pose))
        self.alpha, self.residual, self.stiffness = self.state.alpha, self.out.residual, self.state.J
        self.q, self.at = self.state.q, self.work.at
        self.activations = self.work.balance.activation[: len(joint.acting)]
        self.reactions = self.work.balance.reaction
        self.forces, self.pushes = np.full(len(joint.acting), math.nan), np.full(len(joint.pushing), math.nan)
        self.reserve_names, self.external = tuple(recruitment.reserves), joint.external
        self.reserves = np.full(len(joint.reserve), math.nan)
        self.iterations = 0

    def balance(self, position: Array, velocity: Array, acceleration: Array, weight: Array) -> int:
        """Find the equilibrium of a frame and return its status, a constant of kernels/fdk/problem.

        position, velocity, acceleration : (n_marker, 3) motion of the markers [m], [m/s], [m/s^2]
        weight : (n_marker,) weights, 0 for a marker that is not seen
        """
        joint = self.joint
        joint.fit.measured[:], joint.fit.weight[:], joint.fit.hold[:] = position, weight, 0.0
        joint.velocity[:], joint.acceleration[:] = velocity, acceleration
        return self._balanced()

    def drive(self, q: Array, v: Array, v_dot: Array, driven: NDArray[np.bool_]) -> int:
        """Find the equilibrium of a frame without markers, whose motion is known: determinate kinematics.

        Phi(q, t) = 0 and its time derivatives hold (Andersen et al. 2017, eqs 1 to 3). So driven coordinates
        and constraints together must be as many as the degrees of freedom. NOT_PLACED is returned if they are
        more or fewer, if a degree of freedom remains free, or if no pose satisfies them.

        q : (n_q,) - coordinates of the motion, all finite; v, v_dot : (n_v,) - its speeds and accelerations
          [rad, m, s]; all are read for driven degrees of freedom only
        driven : (n_v,) bool, whether a degree of freedom is driven; it is not if a coupler gives it or if it
          is an FDK degree of freedom
        """
        joint, fit = self.joint, self.joint.fit
        fit.weight[:], fit.hold[:], fit.q_hold[:] = 0.0, driven, q
        joint.hold_velocity[:], joint.hold_acceleration[:] = np.where(driven, (v, v_dot), 0.0)
        return self._balanced()

    def _balanced(self) -> int:
        """Solve for the equilibrium at the markers or the motion that were stored before; return the
        status.
        """
        joint = self.joint
        status, self.iterations = self._run(*self._arguments)
        at, n = self.at, len(joint.acting)
        np.multiply(self.activations, at.strength[joint.acting], out=self.forces)
        self.forces += at.passive[joint.acting]
        last = n + len(joint.pushing)
        np.multiply(self.work.balance.activation[n:last], np.abs(joint.strength), out=self.pushes)
        up, down = self.work.balance.activation[last:].reshape(-1, 2).T
        np.multiply(up - down, joint.reserve, out=self.reserves)
        return int(status)

    def not_borne(self) -> Array:
        """Return, for each degree of freedom named in `freedoms`, the part of its load (generalized force)
        that muscles, reserves and reactions together left unbalanced in the newest frame, (n_borne,) [N m,
        N]; in an exact equilibrium it is 0."""
        balance, at = self.work.balance, self.at
        return balance.load - balance.activation @ at.action - balance.reaction @ at.row

    @property
    def pose(self) -> tuple[Array, Array]:
        """Origins (n_body, 3) [m] and axes (n_body, 3, 3) of all bodies in ground at the coordinates q."""
        found = self._pose
        self._place(self.model.tree, self.q, found)
        return found.position, found.rotation

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the residual forces in the newest frame."""
        return int(self.out.evaluations[0])

    @property
    def least_stiffness(self) -> float:
        """Smallest real part of the eigenvalues of df/dalpha [N/m], the derivatives of the residual forces f
        with respect to the FDK degrees of freedom alpha: below 0 the equilibrium is unstable. It is inf
        without FDK degrees of freedom, NaN if unknown.
        """
        if not len(self.alpha):
            return math.inf
        if not self.state.known[0]:
            return math.nan
        return float(np.linalg.eigvals(self.stiffness).real.min())

    def slopes(self, difference_m: float) -> Array:
        """Return the derivatives df/dalpha (n_fdk, n_fdk) [N/m] of the residual forces f with respect to the
        FDK degrees of freedom alpha, at their present values; NaN if they cannot be computed.

        difference_m : step of central differences [m]; 0 = the derivatives are computed analytically
        """
        options = self.options._replace(tolerance=math.inf, difference=difference_m)
        self._run(self.joint, options, *self._arguments[2:])
        return self.stiffness.copy() if self.state.known[0] else np.full(self.stiffness.shape, math.nan)

    def forget(self) -> None:
        """Discard all previous frames and start again at the neutral pose."""
        self.start(self.model.q_neutral)

    def start(self, q: Array) -> None:
        """Discard all previous frames. The search in the next frame starts from the coordinates q (n_q,),
        which should be near its solution, and from the initial guess of the FDK degrees of freedom.
        """
        state = self.state
        state.alpha[:], state.q[:], state.multiplier[:], state.known[0] = self._first, q, 0.0, 0
        self.sharing.state.started[0] = 0


def rotates_of(model: Model, spec: FdkSpec) -> NDArray[np.bool_]:
    """Return (n_fdk,): whether each FDK degree of freedom is an angle."""
    elements = [model.names.elements.index(name) for name in spec.dofs]
    return np.isin(model.elements.kind[elements], (AZIMUTH, ELEVATION))


def first_of(spec: FdkSpec, rotates: NDArray[np.bool_]) -> Array:
    """Return the initial guess, from the settings, of alpha (n_fdk,), the values of the FDK degrees of
    freedom [m]; ConfigError if the settings state a length in degrees, or an angle in mm.
    """
    found = np.zeros(len(spec.dofs))
    for k, name in enumerate(spec.dofs):
        if name in (spec.start_mm if rotates[k] else spec.start_deg):
            what, key, other = ("an angle", "mm", "deg") if rotates[k] else ("a length", "deg", "mm")
            raise ConfigError(
                f"the FDK degree of freedom {name} is {what}",
                where=f"fdk.start_{key}",
                remedy=f"give its start value in fdk.start_{other}",
            )
        length, angle = 1e-3 * spec.start_mm.get(name, 0.0), math.radians(spec.start_deg.get(name, 0.0))
        found[k] = 1e-3 * spec.lever_mm * angle if rotates[k] else length
    return found


def held_of(model: Model, roles: Roles, spec: FdkSpec) -> tuple[str, ...]:
    """Return the names of the elements (scalar constraints between two bodies) that the method satisfies
    exactly and whose reactions can both push and pull.
    """
    names, one_way = model.names.elements, model.reactions.held(roles).element
    pushing = {names[e] for e in one_way} - {*spec.dofs}
    return tuple(n for n, mode in zip(names, roles.mode, strict=True) if mode == HARD and n not in pushing)


def borne_of(model: Model, roles: Roles, spec: FdkSpec, recruitment: RecruitmentSpec) -> tuple[str, ...]:
    """Return the names of the bodies at whose joints muscles, reactions and reserves have to balance the
    load: those that the settings name or, if they name none, all at whose joints muscles, other forces,
    constraints or reserves of the model do work (`worked_on`).
    """
    return spec.borne or worked_on(model, roles, tuple(recruitment.reserves))


def joint_of(model: Model, roles: Roles, spec: FdkSpec, recruitment: RecruitmentSpec, arc: Array) -> FdkModel:
    """Build the record of a model and its FDK degrees of freedom from which the kernels compute the
    equilibrium of a frame.

    The values alpha of the FDK degrees of freedom are lengths [m]; an angle is multiplied by a lever arm.

    arc : (n_fdk,) factor that gives alpha: 1 for a length, the lever arm [m] for an angle
    """
    names, tree, elements = model.names, model.tree, model.elements
    element = np.array([names.elements.index(name) for name in spec.dofs], np.int64)
    hard = np.flatnonzero(roles.mode == HARD)
    row = {int(e): k for k, e in enumerate(hard)}
    one_way = model.reactions.held(roles)
    acts = np.array([e not in element for e in one_way.element], bool)
    pushing = np.array([row[int(e)] for e in one_way.element[acts]], np.int64)
    bodies = [names.bodies.index(name) for name in borne_of(model, roles, spec, recruitment)]
    dofs = np.flatnonzero(np.isin(tree.dof_body, bodies)).astype(np.int64)
    of_dofs = [coordinate_names(model)[1][d] for d in dofs]
    n_row = len(hard) + len(model.couplers.dof)
    held = np.array([k for k in range(n_row) if k not in pushing], np.int64)
    n_marker = len(model.markers.body)
    markers = model.markers
    if markers.weight is None:  # of one type, whether a model is followed live or not
        markers = markers._replace(weight=np.ones(n_marker))
    fit = FrameProblem(
        tree=tree, markers=markers, elements=elements, roles=roles, measured=np.zeros((n_marker, 3)),
        weight=np.ones(n_marker),
        hold=np.zeros(model.n_v), q_hold=model.q_neutral.copy(),
    )  # fmt: skip
    return FdkModel(
        system=model.system,
        fit=fit,
        constraints=model.constraints(roles),
        forces=model.forces,
        stations=model.stations,
        surfaces=model.surfaces,
        muscles=model.muscles,
        acting=np.flatnonzero(model.muscles.max_isometric_force > 0.0),
        borne=dofs,
        held=held,
        fdk=np.array([held.tolist().index(row[int(e)]) for e in element], np.int64),
        element=element,
        rest=roles.target[element],
        rate=1.0 / arc,
        pushing=pushing,
        strength=one_way.strength[acts],
        reserved=np.array([of_dofs.index(name) for name in recruitment.reserves], np.int64),
        reserve=np.array([*recruitment.reserves.values()], np.float64),
        external=np.zeros((len(names.bodies), 6)),
        velocity=np.zeros((n_marker, 3)),
        acceleration=np.zeros((n_marker, 3)),
        hold_velocity=np.zeros(model.n_v),
        hold_acceleration=np.zeros(model.n_v),
        isometric=recruitment.strength == "isometric",
        of_optimum=spec.velocities == "optimum",
        bands=bands_of(model),
    )


def bands_of(model: Model) -> Bands | None:
    """Return the paths, wrapping surfaces and force parameters of those ligaments that have more than two
    path points or wrap over surfaces; None if the model has no such ligament. In the model's tables of
    elements that pull along paths, these ligaments follow the muscles.
    """
    first, n = len(model.names.pulling), len(model.names.wrapping)
    if not n:
        return None
    assert model.pulls is not None
    own = paths_of(model.pulls.stations, first + np.arange(n))
    return Bands(own, model.surfaces, model.pulls.parameter[first:].copy())


def check(model: Model, roles: Roles, spec: FdkSpec, recruitment: RecruitmentSpec) -> None:
    """Check the settings of force-dependent kinematics; raise ConfigError for impossible ones."""
    names = model.names.elements
    held = [name for name, mode in zip(names, roles.mode, strict=True) if mode == HARD]
    for name in spec.dofs:
        if name in held:
            continue
        allowed = ", ".join(dict.fromkeys([*held, *possible(model)])) or "none"
        raise ConfigError(
            f"{name!r} names no constraint of the method, and no coordinate, joint angle, muscle, ligament "
            "or spring of the model",
            where="fdk.dofs",
            allowed=allowed,
        )
    check_borne(model, roles, spec.borne)
    check_starts(model, from_neutral(model, roles), spec.start_mm)
    check_rows(model, roles, spec.dofs)
    first_of(spec, rotates_of(model, spec))
    for name, element in zip(model.reactions.names, model.reactions.element, strict=True):
        if model.elements.kind[element] != SPHERE_ON_PLANE:
            raise ConfigError(
                f"the reaction {name} must belong to an element of kind plane, but its element keeps "
                "a distance constant",
                where="fdk",
                remedy="name an element of kind plane",
            )
    if recruitment.criterion != "power" or recruitment.weight != "equal":
        raise ConfigError(
            "force-dependent kinematics recruits muscles only by the sum of a power of the activations, "
            "with equal weights for all muscles",
            where="recruitment",
            remedy="remove the keys criterion and weight",
        )
    borne = borne_of(model, roles, spec, recruitment)
    check_enough_borne(model, roles, spec.dofs, borne)
    of = zip(coordinate_names(model)[1], model.tree.dof_body, strict=True)
    check_reserves(recruitment, tuple(name for name, b in of if model.names.bodies[b] in borne))
    if not (model.muscles.max_isometric_force > 0.0).any():
        raise ConfigError(
            "no muscle of the model has an isometric force above zero",
            where="recruitment",
            remedy="give the muscles of the model their Hill parameters",
        )
