"""The feet of a person, tracked by their own markers alone: body, axes and filtered motion of each foot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.contact.followed_foot import N_POSE, N_TWIST, FootFrames, fit_feet, follow
from kernels.contact.prescribed import BodyMotion, new_motion
from kernels.rates.manifold import OK, Manifold
from kernels.solver.initial_pose import new_fit_work
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.config.runs.lab_schema import LabMap
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.foot.foot_contact import FootAxes, foot_axes, on_sole
from rtsim.methods.foot.step_marks import NEEDED
from rtsim.methods.kinematics.rates import RateEstimator
from rtsim.models.model import Model
from rtsim.models.named_feet import feet_of
from rtsim.models.neutral import neutral_places
from rtsim.models.packing.joints import NUMBERS
from rtsim.stages.rates import FilteredMotion
from rtsim.subjects.feet.foot_marks import UP, labelled_side, markers_of
from rtsim.subjects.feet.foot_sole import LEAST, STRETCH, stand_on
from rtsim.subjects.markers.labs import SIDES, side_of
from rtsim.subjects.subject import Subject
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

FREE = Manifold(*(np.array(rows, np.int64) for rows in ([-1], [NUMBERS["free"]], [0, N_POSE], [0, N_TWIST])))
"""The coordinates of one body that moves freely."""


class FollowedFeet:
    """Position and axes of each foot, fitted to the foot's own markers and filtered like the coordinates of
    the kinematics.

    The markers are those that the kinematics uses, in which missing markers are filled in. The joints of the
    model are not used: if they could not reach the pose of a foot, its sole would not be on the ground.

    place : position and velocity of each foot, at the time of the filtered motion
    settled : (n,) whether the motion of the foot is known
    """

    def __init__(self, motion: FilteredMotion, axes: list[tuple[int, FootAxes]]) -> None:
        self.motion, n = motion, len(axes)
        self.place: BodyMotion = new_motion(n)
        self.settled: NDArray[np.bool_] = np.zeros(n, bool)
        self._followed = FootFrames(
            np.array([body for body, _ in axes], np.int64),
            np.array([a.origin for _, a in axes]),
            np.array([a.axes for _, a in axes]),
        )
        self._q, self._work = np.zeros((n, N_POSE)), new_fit_work()
        self._filters: list[RateEstimator] = []
        markers = motion.kinematics.estimator.model.markers
        given = (markers, *motion.kinematics.estimator.followed, self._followed, self._work, self._q)
        self._fit = bind(fit_feet, given)

    def warm(self) -> None:
        """Call every kernel once."""
        estimator = self.motion.kinematics.estimator
        self._fit(estimator.model.markers, *estimator.followed, self._followed, self._work, self._q)
        for k in range(len(self._q)):
            follow(np.eye(N_POSE)[3], np.zeros(N_TWIST), self._followed, k, self.place)

    def begin(self, anew: bool) -> None:
        """Begin a session of the input stream; if it is a new one (anew), create filters like that of the
        motion."""
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(FREE, rate) for _ in self._q] if rate else []

    def take(self, frame: ReceivedFrame) -> None:
        """Fit the feet to the markers of a frame; a foot with fewer than three visible markers has an unknown
        pose."""
        self.settled[:] = False
        estimator = self.motion.kinematics.estimator
        if not self.motion.kinematics.solved:
            return
        self._fit(estimator.model.markers, *estimator.followed, self._followed, self._work, self._q)
        for k, smooth in enumerate(self._filters):
            self.settled[k] = smooth.take(frame.time, self._q[k]) == OK
            if self.settled[k]:
                follow(smooth.rates.q, smooth.rates.v, self._followed, k, self.place)


class FoundFoot(NamedTuple):
    """A foot that was found in a model.

    body : index of its body in the model
    axes : axes of the foot relative to that body
    stood : whether a static trial shows the orientation of its sole
    notes : sentences on its labels
    """

    body: int
    axes: FootAxes
    stood: bool
    notes: tuple[str, ...]


def axes_of(
    model: Model,
    subject: Subject,
    lab: LabMap,
    spec: FootSpec,
    static: MarkerTrial | None,
    load: float,
) -> list[FoundFoot]:
    """Return origin and axes of every foot of a model, relative to its body, as the contact model needs them.

    If there is a static trial, the sole is level on the ground in it, unless the run states otherwise. The
    side of a foot is that of its body in the model. Its markers are those on this body, whichever side their
    labels say. Raises ConfigError if no foot has the markers for this, or if two feet have the same side.

    spec : settings of the foot contact
    load : vertical force on each foot in the static trial, which compresses the sole [N]
    """
    own = "right" if subject.side == "left" else subject.side  # solved as a right one
    found: list[FoundFoot] = []
    lacking = beside = ""
    names, ground = list(model.names.markers), 1e-3 * spec.ground_mm
    for body, side in feet_of(model.names.bodies, own):
        rows = np.flatnonzero(model.markers.body == body)
        tracked, local = [names[k] for k in rows], model.markers.position[rows]
        marked = labelled_side(lab, tracked, subject.side if subject.side in SIDES else side)
        if static is not None:
            roles = markers_of(lab, marked, static.names)
            stood = stand_on(static, list(roles.values()), tracked, local, ground, subject.side == "left")
            seen = stood.marks if stood is not None else ()
            marks = {role: x for role, x in zip(roles, seen, strict=False) if np.isfinite(x).all()}
            if stood is not None and marks.keys() >= set(NEEDED):
                axes, notes = foot_axes(marks, SIDES.index(side), stood.up)
                if spec.sole:
                    axes = on_sole(axes, stood.up, stood.height, spec, load)
                if stood.off > STRETCH:
                    notes = (*notes, unlike(model.names.bodies[body], stood.off, static.source))
                found.append(FoundFoot(body, axes, spec.sole, notes))
                continue
        roles = markers_of(lab, marked, tracked)
        missing = [role for role in NEEDED if role not in roles]
        if missing:
            lacking = f": the trial has no marker {getattr(side_of(lab, marked), missing[0])}"
            if static is not None:
                beside = (
                    f", and {static.source} has no frame with this marker and {LEAST} other markers of the "
                    "foot, from which its position could be computed"
                )
            continue
        places = {role: local[tracked.index(name)] for role, name in roles.items()}
        up = upward(places, neutral_places(model)[1][body].T @ UP)
        axes, notes = foot_axes(places, SIDES.index(side), up)
        found.append(FoundFoot(body, axes, False, notes))
    if not found:
        raise ConfigError(
            f"no foot has the markers that foot_contact needs{lacking}{beside}", where="stages",
            allowed="heel, first and fifth metatarsal, in the trial or in the static trial",
            remedy="give a static trial with --static, a marker map with --lab, or leave foot_contact out",
        )  # fmt: skip
    if len({foot.axes.side for foot in found}) < len(found):
        bodies = " and ".join(model.names.bodies[foot.body] for foot in found)
        raise ConfigError(
            f"{bodies} are feet of the same side",
            where=f"model {model.name}",
            allowed="at most one foot of each side",
        )
    return found


POINTS_DOWN = -0.5
"""Cosine between an axis of a foot and the upward direction in the neutral pose below which the axis points
down; 0 = the axis is horizontal."""


def upward(places: Mapping[str, Array], neutral: Array) -> Array:
    """Return the upward direction (3,) on a foot without a static trial.

    It is the upward direction of ground in the model's neutral pose. If the body's y axis is nearer to the
    normal of the plane through heel and metatarsals, and does not point down, that axis is used instead.

    places : landmark, such as "calcaneus" -> (3,) position on the body [m]
    neutral : (3,) upward direction in the neutral pose, on the body
    """
    heel = places["calcaneus"]
    normal = np.cross(places["metatarsal_1"] - heel, places["metatarsal_5"] - heel)
    nearer = UP @ neutral > POINTS_DOWN and abs(UP @ normal) > abs(neutral @ normal)
    return UP if nearer else neutral


def unlike(body: str, off: float, source: str) -> str:
    """Return the warning that the markers on a body are not arranged as in the static trial.

    off : deviation of the markers from their arrangement in the static trial (RMS) [mm]
    """
    return (
        f"check the static trial: in {source} the distances between the markers on {body} differ from those "
        f"in the trial by {off:.0f} mm (RMS; up to {STRETCH:g} mm is usual), and the landmarks of the foot "
        "are transferred with these markers"
    )
