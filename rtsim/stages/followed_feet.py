"""The feet of a person by their own markers: which body and frame each is, and its filtered motion."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from kernels._jit import bind
from kernels.contact.followed_foot import N_POSE, N_TWIST, Followed, fit_feet, follow
from kernels.contact.prescribed import Motion, new_motion
from kernels.initial_pose import new_fit_work
from kernels.rates.manifold import OK, Manifold
from rtsim.config.foot_schema import FootSpec
from rtsim.config.lab_schema import Lab
from rtsim.errors import ConfigError
from rtsim.files.trial import MarkerTrial
from rtsim.methods.foot_contact import FootAxes, foot_axes, on_sole
from rtsim.methods.rates import RateEstimator
from rtsim.models.model import Model
from rtsim.models.packing.joints import NUMBERS
from rtsim.stages.inverse_dynamics import feet_of
from rtsim.stages.rates import FilteredMotion
from rtsim.subjects.foot_sole import LEAST, stand_on
from rtsim.subjects.labs import SIDES, side_of
from rtsim.subjects.marker_names import find_markers
from rtsim.subjects.subject import Subject
from streams.ring import Frame

FREE = Manifold(*(np.array(rows, np.int64) for rows in ([-1], [NUMBERS["free"]], [0, N_POSE], [0, N_TWIST])))
"""The coordinates of one body that no joint holds."""
NEEDED = ("calcaneus", "metatarsal_1", "metatarsal_5")
"""Marks that the frame of a foot needs, the heel first."""


class FollowedFeet:
    """Frames on feet, fitted to the markers that the kinematics followed, gaps filled, filtered as these are.

    The joints of the model have no part in it: where they cannot turn a foot as it stands, its sole would not
    lie on the ground.

    Attributes
    ----------
    place : the motion of each, at the time of the filtered motion
    settled : (n,) - whether it is known
    """

    def __init__(self, motion: FilteredMotion, axes: list[tuple[int, FootAxes]]) -> None:
        self.motion, n = motion, len(axes)
        self.place: Motion = new_motion(n)
        self.settled: NDArray[np.bool_] = np.zeros(n, bool)
        self._followed = Followed(
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
        """Every kernel once."""
        estimator = self.motion.kinematics.estimator
        self._fit(estimator.model.markers, *estimator.followed, self._followed, self._work, self._q)
        for k in range(len(self._q)):
            follow(np.eye(N_POSE)[3], np.zeros(N_TWIST), self._followed, k, self.place)

    def begin(self, anew: bool) -> None:
        """Filters like that of the motion."""
        if anew or not self._filters:
            rate = self.motion.rate
            self._filters = [self.motion.estimator_of(FREE, rate) for _ in self._q] if rate else []

    def take(self, frame: Frame) -> None:
        """The feet of a frame; one of which fewer than three markers are known is not."""
        self.settled[:] = False
        estimator = self.motion.kinematics.estimator
        if not self.motion.kinematics.solved:
            return
        self._fit(estimator.model.markers, *estimator.followed, self._followed, self._work, self._q)
        for k, smooth in enumerate(self._filters):
            self.settled[k] = smooth.take(frame.time, self._q[k]) == OK
            if self.settled[k]:
                follow(smooth.rates.q, smooth.rates.v, self._followed, k, self.place)


def axes_of(
    model: Model,
    subject: Subject,
    lab: Lab,
    spec: FootSpec,
    static: MarkerTrial | None,
    load: float,
) -> list[tuple[int, FootAxes, bool]]:
    """Body and frame of every foot of a model, and whether a static trial tells its sole, under a load [N].

    ConfigError where markers of none are there.
    """
    own = "right" if subject.side == "left" else subject.side  # solved as a right one
    found: list[tuple[int, FootAxes, bool]] = []
    lacking = beside = ""
    names, ground = list(model.names.markers), 1e-3 * spec.ground_mm
    for body, side in feet_of(model.names.bodies, own):
        marked = subject.side if subject.side in SIDES else side
        if static is not None:
            rows = np.flatnonzero(model.markers.body == body)
            tracked, local = [names[k] for k in rows], model.markers.position[rows]
            roles = markers_of(lab, marked, static.names)
            stood = stand_on(static, list(roles.values()), tracked, local, ground, subject.side == "left")
            if stood is not None and roles.keys() >= set(NEEDED):
                axes = foot_axes(dict(zip(roles, stood.marks, strict=True)), stood.up)
                if spec.sole:
                    axes = on_sole(axes, stood.up, float(stood.heights[0]), spec, load)
                found.append((body, axes, spec.sole))
                continue
        roles = markers_of(lab, marked, names)
        missing = [role for role in NEEDED if role not in roles]
        if missing:
            lacking = f": {getattr(side_of(lab, marked), missing[0])} is not there"
            if static is not None:
                beside = f", and {static.source} does not show it beside {LEAST} markers that follow its foot"
            continue
        places = {role: model.markers.position[names.index(name)] for role, name in roles.items()}
        found.append((body, foot_axes(places), False))
    if not found:
        raise ConfigError(
            f"no foot has its markers{lacking}{beside}", where="stages",
            allowed="heel, first and fifth metatarsal, in the trial or the static one",
            remedy="give --static, name the lab, or leave foot_contact out",
        )  # fmt: skip
    return found


def markers_of(lab: Lab, side: str, names: Collection[str]) -> dict[str, str]:
    """Role -> marker among these names, of the marks that the frame of a foot is made of."""
    table = side_of(lab, side)
    roles = {role: str(getattr(table, role)) for role in (*NEEDED, "metatarsal_2", "metatarsal_3")}
    found = find_markers([name for name in roles.values() if name], list(names))
    return {role: name for role, name in roles.items() if name in found}
