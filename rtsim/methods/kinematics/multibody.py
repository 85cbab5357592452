"""Multi-body optimisation (Sancisi et al. 2017): the pose that fits all markers and satisfies the joints.

One `MultibodyEstimator` tracks one skeleton. All its methods are set up at the start, so that they can be
switched between two frames; methods with the same joints continue from the same solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.held_arguments import HeldCall
from kernels.compiler.jit import hold
from kernels.joints.motions import TRANSLATES
from kernels.joints.tree import Pose, without_tables
from kernels.markers.marker_health import Health, new_health
from kernels.markers.segment_filling import new_segments
from kernels.solver.constraints import Roles
from kernels.solver.coordinates import FREE_TO_MOVE
from kernels.solver.frame import (
    SENT_AGAIN,
    FrameOptions,
    FrameState,
    Outputs,
    Skeleton,
    SolverMethod,
    estimate,
    new_outputs,
)
from kernels.solver.initial_pose import new_fit_work
from kernels.solver.kkt import CONVERGED
from kernels.solver.optimality import new_work
from kernels.solver.track import TrackWork, new_track
from kernels.uncertainty.marker_errors import MarkerErrors, new_marker_errors
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import MarkerCheck, Solver, Uncertainty
from rtsim.methods.kinematics.deviations import MethodDeviations
from rtsim.methods.kinematics.flexion_joints import flexion_joints
from rtsim.methods.kinematics.frame_options import (
    OWN_SLACK,
    fill_options,
    health_options,
    slack_of,
    track_options,
)
from rtsim.methods.kinematics.method_bias import bias_of
from rtsim.models.following import (
    TargetedCoordinate,
    TrackingTasks,
    drawn_in,
    following_of,
    passed_names,
    with_coordinates,
    with_markers,
    with_none_drawn,
)
from rtsim.models.model import Model, build_each
from rtsim.models.packing.couplers import drivers_first, with_couplers
from rtsim.models.roles import check_fits_markers, find_method, roles_of
from rtsim.subjects.subject import Subject

Array = NDArray[np.float64]
FLOAT = np.dtype(np.float64)


class Solution(NamedTuple):
    """Outcome of the solver for a frame; its arrays, such as q, are in `MultibodyEstimator.outputs`."""

    converged: bool
    iterations: int
    residual: float  # |(gradient of the Lagrangian, Phi)| [m, m^2]
    n_open: int  # dofs that no marker determines; they stay near the last pose
    n_visible: int
    n_swap: int  # groups of two or more markers whose labels are exchanged
    n_fault: int  # faulty markers
    sent_again: bool = False  # the sender repeated the markers of the frame before; results are unchanged


NO_FRAME = Solution(
    converged=False, iterations=0, residual=math.nan, n_open=0, n_visible=0, n_swap=0, n_fault=0
)
"""Solution of a frame that was not estimated."""


class _Setup(NamedTuple):
    model: Model
    skeleton: Skeleton
    method: SolverMethod
    work: TrackWork
    state: FrameState
    outputs: Outputs
    shape: tuple[int, int]  # of a measured frame
    run: HeldCall | None  # None until the options of a frame are known
    moving: tuple[tuple[int, TargetedCoordinate], ...]  # tasks whose targets change in time, by their rows
    deviations: MethodDeviations | None  # None where none are asked for


class MultibodyEstimator:
    """Estimates the pose of a person's skeleton from markers, frame by frame.

    Parameters
    ----------
    spec, subject : the model and the person; without a person the markers are those that the model defines
    method : one of spec.methods
    methods : further methods that can be switched to
    solver, check : settings of the solver and of the marker checks
    following : tracking tasks of the model's own markers and coordinates; None = all markers, by their
        weights
    uncertainty : assumptions for standard deviations; None = none are computed
    """

    def __init__(
        self, spec: ModelSpec, subject: Subject | None, method: str, methods: tuple[str, ...] = (),
        solver: Solver | None = None, check: MarkerCheck | None = None,
        following: TrackingTasks | None = None, uncertainty: Uncertainty | None = None,
    ) -> None:  # fmt: skip
        self.passed: tuple[str, ...] = ()
        if subject is None:
            following = following_of(spec) if following is None else following
            self.passed = passed_names(spec)
        self.following = following
        solver, check = solver or Solver(), check or MarkerCheck()
        models = build_each(spec, subject, dict.fromkeys((method, *methods)))
        if following is not None:
            chosen = {id(model): with_markers(model, following) for model in models.values()}
            models = {name: chosen[id(model)] for name, model in models.items()}
        n_marker = len(models[method].names.markers)
        slack = slack_of(models[method]) if subject is not None else np.full(n_marker, OWN_SLACK)
        self.options = FrameOptions(track_options(solver), health_options(check, slack), fill_options(check))
        self.health: Health = new_health(n_marker)
        self._setups = {
            name: set_up(spec, subject, name, model, self.health, following) for name, model in models.items()
        }
        self._errors = new_marker_errors(len(models[method].names.markers))
        if uncertainty is not None:
            covariance_version = np.zeros(1, np.int64)
            self._setups = {
                name: with_deviations(setup, self._errors, uncertainty, covariance_version)
                for name, setup in self._setups.items()
            }
        self._setups = {name: self._holding(setup) for name, setup in self._setups.items()}
        self._bias = {name: bias_of(spec, name, models[name]) for name in models}
        self.method = method
        self._now = self._setups[method]
        self._last = NO_FRAME

    @property
    def bias_deg(self) -> dict[str, float]:
        """By joint angle, the method's systematic error [deg], which standard deviations leave out."""
        return self._bias[self.method]

    @property
    def model(self) -> Model:
        """The model with the joints of the method in use."""
        return self._now.model

    @property
    def outputs(self) -> Outputs:
        """Results of the last frame, overwritten by the next."""
        return self._now.outputs

    @property
    def q(self) -> Array:
        """(n_q,) generalized coordinates of the last frame."""
        return self._now.state.track.q

    @property
    def pose(self) -> tuple[Array, Array]:
        """(n_body, 3), (n_body, 3, 3) origins [m] and axes of the bodies in ground, of the last frame."""
        pose = self._now.work.solver.pose
        return pose.position, pose.rotation

    @property
    def followed(self) -> tuple[Array, Array]:
        """Markers fitted in the last frame, with gaps filled: positions (n_marker, 3) [m] and weights
        (n_marker,), 0 = not used."""
        segments = self._now.state.segments
        return segments.place, segments.weight

    @property
    def held_bodies(self) -> list[str]:
        """Bodies that no marker determined in the last frame, held near their last pose."""
        s = self._now
        held = s.model.tree.dof_body[s.work.open == 1]
        return [s.model.names.bodies[b] for b in dict.fromkeys(held.tolist())]

    @property
    def undetermined(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n_v,) dofs that no marker determined in the last frame; (n_v,) those of them that others do."""
        s = self._now
        undetermined = s.work.open == 1
        at_bound = s.work.solver.bound != FREE_TO_MOVE
        return undetermined, undetermined & ~at_bound & (s.state.track.floating_inner == 0)

    @property
    def roles(self) -> Roles:
        """How the method in use treats each scalar constraint of the model: off, soft or hard."""
        return self._now.method.roles

    @property
    def pressed(self) -> Array:
        """Gradient of the objective in the last frame, (n_v,) [m^2/rad, m]: clearly nonzero only for a degree
        of freedom at a bound.
        """
        return self._now.work.solver.lagrangian

    @property
    def flexion(self) -> Array:
        """(n_element,) joint angle on which a constraint's length depends [rad], negative in flexion."""
        angles: Array = self.outputs.angles[self._now.method.flexion, 0]
        return angles

    def estimate(self, measured: Array, dt: float) -> Solution:
        """Solve one frame; measured : (n_marker, 3) C-contiguous float64 [m], NaN = occluded; dt [s]."""
        s = self._now
        if measured.shape != s.shape or measured.dtype != FLOAT or not measured.flags.c_contiguous:
            raise TypeError(f"measured must be C-contiguous float64 of shape {s.shape}")
        assert s.run is not None
        status, *said = s.run(measured, float(dt))
        if status == SENT_AGAIN:
            return self._last._replace(iterations=0, sent_again=True)
        self._last = Solution._make([status == CONVERGED, *said, False])
        return self._last

    @property
    def waited(self) -> float:
        """Time for which the sender has repeated the markers of the last estimated frame [s]; its results
        are repeated as long."""
        return float(self.health.waited[0])

    def turned_meanwhile(self) -> Array:
        """Return how far each joint may have rotated at its last speed while the sender repeated a frame,
        (n_body,) [rad]; 0 for bodies without a parent.
        """
        tree, speed = self._now.model.tree, self._now.state.track.speed
        turns = (tree.dof_rotates != TRANSLATES) & (tree.parent[tree.dof_body] >= 0)
        squares = np.bincount(tree.dof_body[turns], speed[turns] ** 2, len(tree.parent))
        return np.asarray(self.waited * np.sqrt(squares))

    @property
    def deviations(self) -> MethodDeviations | None:
        """Standard deviations of the results of the frame last given to `deviate`, such as `angles` :
        (n_joint, 3) of the joint angles [rad]; None if the estimator was made without `uncertainty`."""
        return self._now.deviations

    def deviate(self, dt: float, solution: Solution) -> int:
        """Compute the standard deviations of the newest estimate; return how many angles are uncertain."""
        found = self._now.deviations
        return found.run(float(dt), solution.converged) if found is not None else 0

    def prepare_rates(self) -> None:
        """Compile, before the first frame, what the deviations of speeds and accelerations need."""
        for setup in self._setups.values():
            if setup.deviations is not None:
                setup.deviations.prepare_columns()

    def aim(self, time: float) -> None:
        """Set the targets of coordinates prescribed over time to their values at a time [s]."""
        for k, drawn in self._now.moving:
            target = drawn.at(time)
            for roles in (self._now.method.roles, self._now.method.first):
                if roles.tasks is not None and roles.tasks.target[k] != target:
                    roles.tasks.target[k] = target
                    self.health.last[:] = np.nan  # the same markers are another frame then

    def switch(self, method: str) -> None:
        """Use another method from the next frame on; starts from the present pose if joints are the same."""
        if method not in self._setups:
            raise KeyError(method)
        former, new = self._now, self._setups[method]
        forget(new)
        if new is not former:  # another method leaves other residuals: what was usual no longer counts
            self._forget_markers()
        if former.model is new.model:
            for track in (new.state.track, new.state.first):
                track.q[:] = former.state.track.q
                track.speed[:] = former.state.track.speed
                track.multiplier[:] = 0.0
                track.started[0] = former.state.track.started[0]
                track.trusted[0] = former.state.track.trusted[0]
                track.doubt[0] = 0  # another method may be assembled differently: look again
            if former.deviations is not None and new.deviations is not None:
                new.deviations.follow(former.deviations)
        self.method, self._now = method, new

    def _holding(self, s: _Setup) -> _Setup:
        """Compile the solver's kernel for the arrays of a method; return the method's setup with the machine
        code, which keeps references to these arrays."""
        arguments = (s.skeleton, s.method, np.zeros(s.shape), 0.0, self.options, s.state, s.work, s.outputs)
        if s.deviations is not None:
            s.deviations.hold(self.options)
        return s._replace(run=hold(estimate, arguments, given=(2, 3)))

    def restart(self) -> None:
        """Discard the pose and the markers' history, for a new subject or a new stream."""
        for setup in self._setups.values():
            forget(setup)
        self._forget_markers()

    def _forget_markers(self) -> None:
        """Discard the history of the markers, such as their usual residuals."""
        fresh = new_health(len(self.health.weight))
        for old, new in zip(self.health, fresh, strict=True):
            old[...] = new
        for array in (*self._errors[:-1], *self._errors.ranges):
            array[...] = 0

    @property
    def downweights(self) -> bool:
        """Whether faulty markers are left out; otherwise they are only reported."""
        return bool(self.options.health.downweight[0])

    def set_downweighting(self, on: bool) -> None:
        """Choose whether faulty markers are left out or only reported; takes effect in the next frame."""
        self.options.health.downweight[0] = on

    def placed_by(self, method: str) -> tuple[Model, Roles, Pose, Array]:
        """Return model and roles (constraints in use, with targets) of a method, and the pose and coordinates
        that its solver writes."""
        s = self._setups[method]
        return s.model, s.method.roles, s.work.solver.pose, s.state.track.q

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that can be switched to."""
        return tuple(self._setups)


def forget(setup: _Setup) -> None:
    """Discard what a method's solver has learned from earlier frames; the next counts as the first."""
    for track in (setup.state.track, setup.state.first):
        track.started[0] = track.trusted[0] = track.doubt[0] = 0
        track.speed[:] = 0.0
    for part in setup.state.segments:
        part[...] = 0
    if setup.deviations is not None:
        setup.deviations.forget()


def set_up(
    spec: ModelSpec, subject: Subject | None, method: str, model: Model, health: Health,
    following: TrackingTasks | None = None,
) -> _Setup:  # fmt: skip
    """Choose the constraints that one method uses (its roles), and allocate all its arrays except the
    markers' history, which all methods share."""
    check_fits_markers(spec)
    how, roles = find_method(spec, method), roles_of(spec, method, subject)
    first = roles_of(spec, how.follows, subject) if how.follows else roles
    tree, markers, drawn = without_tables(with_couplers(model.tree, model.couplers)), model.markers, []
    full = model.tree._replace(couplers=drivers_first(model.couplers))
    # two compiled solvers do for all models: one of persons without tables, and one with all of them
    if following is None and tree.chains is not None:
        tree, markers = full, markers._replace(weight=np.ones(len(markers.body)))
        roles, first = with_none_drawn(roles), with_none_drawn(first)
    elif following is not None:
        tree = full
        roles = with_coordinates(roles, model, spec, following)
        first = with_coordinates(first, model, spec, following)
        drawn = drawn_in(model, following)
    skeleton = Skeleton(
        tree=tree, markers=markers, elements=model.elements, joints=model.joints, q_neutral=model.q_neutral,
        neutral_length=model.lengths.neutral, polynomial=model.lengths.polynomial,
        ligaments=model.reported.ligaments, contacts=model.reported.contacts,
        points=model.outline.points, point_body=model.outline.body,
    )  # fmt: skip
    n_body, n_element = len(model.names.bodies), len(model.names.elements)
    n_q, n_marker = len(model.q_neutral), len(model.names.markers)
    n_path, n_motion = model.elements.path.shape[1], len(model.tree.chains.dof)
    n_joint, n_point = len(model.joints.proximal), len(model.outline.body)
    n_ligament, n_contact = len(model.reported.ligaments), len(model.reported.contacts)
    solver_work = new_work(n_body, n_q, model.n_v, n_marker, n_element, n_path, n_motion)
    work = TrackWork(solver_work, new_fit_work(), np.zeros(model.n_v, np.int64))
    track = new_track(n_q, model.n_v, n_element)
    return _Setup(
        model=model,
        skeleton=skeleton,
        method=SolverMethod(roles, first, int(bool(how.follows)), flexion_joints(spec, model)),
        work=work,
        state=FrameState(track, new_track(n_q, model.n_v, n_element), health, new_segments(n_body, n_marker)),
        outputs=new_outputs(n_joint, n_ligament, n_contact, n_marker, n_point),
        shape=(n_marker, 3),
        run=None,
        moving=tuple((k, one) for k, one in enumerate(drawn) if len(one.times) > 1),
        deviations=None,
    )


def with_deviations(
    s: _Setup, errors: MarkerErrors, stated: Uncertainty, covariance_version: NDArray[np.int64]
) -> _Setup:
    """Return the setup `s` of a method with arrays for standard deviations under the errors `stated`."""
    found = MethodDeviations(
        model=s.model, skeleton=s.skeleton, method=s.method, state=s.state, work=s.work,
        errors=errors, stated=stated, covariance_version=covariance_version,
    )  # fmt: skip
    return s._replace(deviations=found)
