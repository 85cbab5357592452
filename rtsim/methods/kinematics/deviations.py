"""Standard deviations of one method's results (docs/uncertainty.md): the object that holds the kernel's
arrays, calls the kernel after each frame and gives access to the results.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.held_arguments import HeldCall
from kernels.compiler.jit import bind, hold
from kernels.joints.motions import TRANSLATES
from kernels.solver.alternative_configuration import (
    forget_others,
    new_alternative_configuration,
    new_alternative_work,
)
from kernels.solver.constraints import HARD
from kernels.solver.frame import FrameOptions, FrameState, Skeleton, SolverMethod
from kernels.solver.track import TrackWork
from kernels.solver.undetermined_dofs import HELD_ANGLE, HELD_ANGLE_SPEED, MOST_ANGLE, MOST_LENGTH
from kernels.uncertainty.covariance_factor import columns_in_time, new_column_work, new_columns, new_course
from kernels.uncertainty.deviation import (
    NEVER,
    DeviationOptions,
    deviate,
    new_deviation_state,
    new_deviation_work,
    new_deviations,
)
from kernels.uncertainty.gradient_errors import SkinMotion
from kernels.uncertainty.marker_errors import ErrorBounds, MarkerErrors
from kernels.uncertainty.place_errors import WeightedPoints, new_place_work, place_deviations
from kernels.uncertainty.pose_errors import ALL, NOISE
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.models.model import Model
from rtsim.subjects.subject import kind_of_segment

Array = NDArray[np.float64]


FRAME_ADDS = 1.64
"""Factor of the standard deviation that repetition of a frame adds: 90 % of errors (docs/uncertainty.md)."""
MOST_NEEDED = 2
"""Number of markers that each of two successive bodies must show (or all that it has), so that their joint
cannot be solved as bent to the other side."""
TURN_PART = 0.5
"""Fraction of the variance of common skin motion on a segment that is due to rotation, not translation."""
N_FREE = 6
"""Number of degrees of freedom of a free body."""
LEAST_ARM_M = 0.01
"""Mean distance of a segment's markers from their centre below which common skin motion is translation only
[m]."""


class MethodDeviations:
    """Standard deviations of the results of one method; NaN in frames that were not solved.

    Parameters
    ----------
    model, skeleton, method, state, work : the model, and the solver's tables and arrays of the method
    errors : properties of the marker errors that were learned from the frames, shared by all methods
    stated : assumed sizes of the errors, and the limit above which an angle is uncertain
    covariance_version : (1,) number of covariance updates of all methods

    Attributes
    ----------
    uncertain : (3 n_joint,) 1 = the angle's standard deviation is above the limit or not known
    course : motion given to the newest call of `columns`, and its three poses
    """

    def __init__(
        self,
        model: Model,
        skeleton: Skeleton,
        method: SolverMethod,
        state: FrameState,
        work: TrackWork,
        errors: MarkerErrors,
        stated: Uncertainty,
        covariance_version: NDArray[np.int64],
    ) -> None:
        n_joint, n_body = len(model.joints.proximal), len(model.names.bodies)
        n_element = len(model.names.elements)
        displaced = displaced_joints(model.names.bodies, model.joints.distal)
        sizes = (3 * n_joint, 3 * len(displaced), len(skeleton.ligaments), 3 * len(skeleton.contacts))
        limit = np.radians([stated.limit_deg, stated.limit_deg, stated.limit_rotation_deg])
        enough = np.minimum(np.bincount(model.markers.body, minlength=n_body), MOST_NEEDED).astype(np.int64)
        self.options = DeviationOptions(
            bounds=error_bounds(model, stated), limit=limit, enough=enough,
            displaced=np.array(displaced, np.int64), averaging=stated.average_s,
            lasting=math.sqrt(2.0 * math.pi) * stated.skin_time_s,
        )  # fmt: skip
        self.stated = stated
        self._of_frame = skeleton, method, state
        reported = len(skeleton.ligaments), len(skeleton.contacts)
        n_q, n_marker = len(model.q_neutral), len(model.markers.body)
        other_work = new_alternative_work(n_q, model.n_v, n_marker, n_joint, *reported, sum(sizes))
        other = new_alternative_configuration(
            one_dof_joints(skeleton, method), model.n_v, n_element, sum(sizes)
        )
        fresh = new_deviation_state(model.n_v, n_body, sum(sizes), errors, other)
        self.state = fresh._replace(pose=fresh.pose._replace(covariance_version=covariance_version))
        own = new_deviation_work(model.n_v, n_body, n_element, n_joint, sum(sizes))
        self._work, self._out = (work, own, other_work), new_deviations(n_joint, sum(sizes))
        self._starts = np.cumsum(sizes)[:-1].tolist()
        self.uncertain = self._out.uncertain
        self._run: HeldCall | None = None
        self._run_columns: HeldCall | None = None
        self._columns = new_columns(model.n_v, n_body, len(other.body))
        self.course = new_course(len(model.q_neutral), model.n_v)
        self._place_work, self._run_places = new_place_work(model.n_v), place_deviations

    # Views are made when they are asked for: a copy of this has arrays of its own.

    @property
    def angles(self) -> Array:
        """(n_joint, 3) standard deviations of the joint angles [rad]."""
        return self._part(0).reshape(-1, 3)

    @property
    def displacements(self) -> Array:
        """(n_displaced, 3) standard deviations of the displacements of the shanks relative to the thighs,
        along the axes of the knees (see `displaced_joints`) [m].
        """
        return self._part(1).reshape(-1, 3)

    @property
    def lengthening(self) -> Array:
        """(n_ligament,) standard deviations of the ligaments' lengthening relative to their neutral length
        [1].
        """
        return self._part(2)

    @property
    def contact_points(self) -> Array:
        """(n_contact, 3) standard deviations of the contact points [m]."""
        return self._part(3).reshape(-1, 3)

    @property
    def covariance(self) -> Array:
        """(n_v, n_v) covariance of the tangent coordinates [rad^2, rad m, m^2]; NaN if the frame was not
        solved, or if its objective has no unique minimum.
        """
        return self.state.pose.covariance[ALL]

    @property
    def noise_covariance(self) -> Array:
        """(n_v, n_v) part of the tangent coordinates' covariance that is due to white noise of the
        markers.
        """
        return self.state.pose.covariance[NOISE]

    @property
    def covariance_version(self) -> int:
        """Number of covariance updates of all methods, which come at intervals and when the set of used
        markers changes.
        """
        return int(self.state.pose.covariance_version[0])

    @property
    def coordinates(self) -> Array:
        """(n_v,) standard deviations of the tangent coordinates [rad, m].

        If too few markers of two successive bodies are visible to exclude that their joint is bent to the
        other side, those of the angles are at least an assumed value, which grows with time.
        """
        tree, folded = self._of_frame[0].tree, self.state.folded_for
        most = np.where(tree.dof_rotates == TRANSLATES, MOST_LENGTH, MOST_ANGLE)
        found = np.minimum(np.sqrt(np.diagonal(self.covariance)), most)
        if folded.any():
            body = tree.dof_body
            time = np.maximum(folded[body], np.where(tree.parent[body] >= 0, folded[tree.parent[body]], 0.0))
            least = np.minimum(np.hypot(HELD_ANGLE, HELD_ANGLE_SPEED * time), MOST_ANGLE)
            found = np.where((time > 0.0) & (tree.dof_rotates != TRANSLATES), np.maximum(found, least), found)
        return np.asarray(found)

    def write_places(self, places: WeightedPoints, out: Array) -> None:
        """Compute the standard deviations of the positions `places` along ground's axes, at the present pose;
        out : (n_place, 3) [m], written.
        """
        tree, pose = self._of_frame[0].tree, self._work[0].solver.pose
        if math.isnan(self.covariance[0, 0]):
            out[:] = math.nan
            return
        self._run_places(tree.last_dof, tree.dof_parent, places, pose, self.covariance, self._place_work, out)

    def columns(self, q: Array, v: Array, v_dot: Array, apart: float) -> Array | None:
        """Compute how errors of markers change the tangent coordinates, at three successive poses of a
        motion, (3, 2, n_v, n).

        The first index is the pose: shortly before the given pose, at it, and shortly after it. The second is
        the kind of the error, LASTING or NOISE. Each of the n columns is the effect of one independent error
        of one standard deviation, of a marker or of a degree of freedom that no marker determines. The next
        call overwrites the result. Returns None if markers and joints do not determine one of the three
        poses.

        q : (n_q,); v, v_dot : (n_v,) - speeds and accelerations, of kernels/rates/manifold.Rates
        apart : time from one of the three poses to the next [s]
        """
        self.prepare_columns()
        assert self._run_columns is not None
        for row, given in zip(self.course, (q, v, v_dot, apart), strict=False):
            row[:] = given
        n = self._run_columns()
        return self._columns[..., :n] if n else None

    def _part(self, k: int) -> Array:
        return np.split(self._out.value, self._starts)[k]

    def hold(self, options: FrameOptions) -> None:
        """Compile the kernels that compute the deviations, for the method's own arrays, and keep these arrays
        with the machine code, so that `run` passes only what changes. options : settings of the frame's
        solver
        """
        skeleton, method, state = self._of_frame
        arguments = (
            skeleton, method, 0.0, options, self.options, state, self.state, self._work, self._out,
        )  # fmt: skip
        self._run = hold(deviate, arguments, given=(2,))
        tree, pose = self._of_frame[0].tree, self._work[0].solver.pose
        self._run_places = bind(
            place_deviations,
            (
                tree.last_dof, tree.dof_parent, places_of([], np.zeros((0, 3))), pose, self.covariance,
                self._place_work, np.zeros((0, 3)),
            ),
        )  # fmt: skip

    def prepare_columns(self) -> None:
        """Compile the kernel that `columns` calls. It has a working space of its own, so that the pose of the
        frame, in the working space of the frame's solver, is not overwritten.
        """
        if self._run_columns is not None:
            return
        skeleton, method, state = self._of_frame
        tree = skeleton.tree
        n_q, n_v, n_body = len(self.course.q), len(tree.dof_body), len(tree.parent)
        n_marker, n_element = len(skeleton.markers.body), len(method.roles.mode)
        arguments = (
            skeleton, method, self.course, self.options.bounds.skin, state, self.state,
            copy.deepcopy(self._work[0].solver), self._work,
            new_column_work(n_q, n_v, n_body, n_marker, n_element), self._columns,
        )  # fmt: skip
        self._run_columns = hold(columns_in_time, arguments, given=())

    def run(self, dt: float, converged: bool) -> int:
        """Update the deviations after a frame; return the number of uncertain angles.

        If the frame was not solved, all deviations are NaN and all angles uncertain.
        """
        if converged:
            assert self._run is not None
            return int(self._run(dt))
        self._out.value[:] = math.nan
        self._out.uncertain[:] = 1.0
        self.state.held_for[:] += dt
        self.state.folded_for[:] += dt
        self.state.away[:] += dt
        self.state.other.since[:] += dt
        self.state.pose.covariance[:] = math.nan
        self.state.pose.wait[0] = 0
        self.state.pose.covariance_version[0] += 1
        return len(self.uncertain)

    def doubt(self, turned: Array) -> None:
        """Mark angles as uncertain in a frame that repeats the results of an earlier one, if their joints may
        have rotated too far since then.

        turned : (n_joint,) rotation of each joint [rad]
        """
        beyond = np.hypot(self.angles, FRAME_ADDS * turned[:, None]) > self.options.limit
        self.uncertain[beyond.reshape(-1)] = 1.0

    def unusual(self, angles: Sequence[int]) -> list[int]:
        """Select from `angles` (indices) those whose standard deviation was on average within the limit in
        earlier frames, so that it is unusual if they are uncertain."""
        usual, limit = self.state.usual, self.options.limit
        return [k for k in angles if usual[k] <= limit[k % 3] ** 2]

    def forget(self) -> None:
        """Discard the covariance and all standard deviations, and the history from which they are updated."""
        self.state.held_for[:] = self.state.folded_for[:] = self.state.away[:] = NEVER
        self.state.weight[:] = math.nan
        self.state.mean[:] = self.state.usual[:] = self.state.most[:] = 0.0
        self.state.pose.wait[0] = 0
        forget_others(self.state.other)

    def follow(self, other: MethodDeviations) -> None:
        """Copy from another method of the same model for how long the markers have not determined each
        degree of freedom and body."""
        self.state.held_for[:] = other.state.held_for
        self.state.folded_for[:] = other.state.folded_for


def places_of(body: Sequence[int] | NDArray[np.int64], point: Array) -> WeightedPoints:
    """Describe n positions, each a point (n, 3) fixed to a body (n,) [m], as the WeightedPoints of which
    `write_places` computes standard deviations.
    """
    n = len(body)
    return WeightedPoints(
        np.arange(n + 1), np.array(body, np.int64), np.ascontiguousarray(point, float), np.ones(n)
    )


def mean_place(share: Array, point: Array) -> WeightedPoints:
    """Describe one position, such as a centre of mass, as the WeightedPoints of which `write_places` computes
    the standard deviation. It is the sum of one point (n_body, 3) of each body [m], multiplied by its weight
    in `share` (n_body,).
    """
    n = len(share)
    return WeightedPoints(
        np.array([0, n]), np.arange(n), np.ascontiguousarray(point, float), np.array(share, float)
    )


def one_dof_joints(skeleton: Skeleton, method: SolverMethod) -> NDArray[np.int64]:
    """Return the bodies with a parent whose joint has six degrees of freedom, of which constraints leave one
    at the most, such as a shank on a knee with contacts and ligaments.
    """
    tree, elements = skeleton.tree, skeleton.elements
    hard = [elements.path[e, : elements.n_path[e]] for e in np.flatnonzero(method.roles.mode == HARD)]
    found = []
    for b in np.flatnonzero((np.diff(tree.v_start) == N_FREE) & (tree.parent >= 0)):
        own = np.arange(tree.v_start[b], tree.v_start[b + 1])
        if sum(bool(np.isin(own, path).all()) for path in hard) >= N_FREE - 1:
            found.append(b)
    return np.array(found, np.int64)


def displaced_joints(body_names: Sequence[str], distal: NDArray[np.int64]) -> list[int]:
    """Return the indices of the joints that carry a shank (knees), whose displacements are reported; distal :
    (n_joint,) body that each joint carries
    """
    return [j for j, b in enumerate(distal) if kind_of_segment(body_names[b]) == "shank"]


def error_bounds(model: Model, stated: Uncertainty) -> ErrorBounds:
    """Return the assumed sizes and limits of the errors of a model's markers, from the settings `stated`."""
    by_kind = {
        "pelvis": stated.pelvis_mm,
        "thigh": stated.thigh_mm,
        "femur": stated.thigh_mm,
        "shank": stated.shank_mm,
        "tibia": stated.shank_mm,
        "foot": stated.foot_mm,
        "calcn": stated.foot_mm,
        "toes": stated.foot_mm,
    }
    body, places = model.markers.body, model.markers.position
    kinds = [kind_of_segment(name) for name in model.names.bodies]
    size = 1e-3 * np.array([by_kind.get(kind, stated.other_mm) for kind in kinds])
    n_body = len(kinds)
    centre, arm = np.zeros((n_body, 3)), np.zeros(n_body)
    for b in np.unique(body[body >= 0]):
        own = places[body == b]
        centre[b] = own.mean(axis=0)
        arm[b] = np.sqrt(np.mean(np.sum((own - centre[b]) ** 2, axis=1)))
    turns = np.where(arm > LEAST_ARM_M, TURN_PART * stated.rigid_part, 0.0)
    # a turn moves a marker by its arm in two of three directions
    turn = np.sqrt(1.5 * turns) * size / np.maximum(arm, LEAST_ARM_M)
    skin = SkinMotion(centre, turn, np.sqrt(stated.rigid_part - turns) * size)
    of_marker = np.where(body >= 0, size[body], 1e-3 * stated.other_mm)
    return ErrorBounds(
        least_noise=1e-3 * stated.least_noise_mm, most_noise=1e-3 * stated.most_noise_mm,
        own=np.sqrt(1.0 - stated.rigid_part) * of_marker, most_own=stated.most_skin * of_marker,
        size=of_marker, skin=skin,
    )  # fmt: skip
