"""Status of each joint and segment in a frame: the status bits that apply to it.

A frame is flagged if anything in it is. A fault of a segment affects all joints of its limb, which depend on
each other; a fault of the root, or of a segment whose markers distort the solution, affects all joints. A
fault of one leg does not affect the other, and a fault of a person's trunk does not affect the legs.

An uncertain angle affects its own joint only. If it is usually certain, or if markers are missing, it affects
all joints of its limb. If it is usually certain and belongs to a joint at the root, it affects all joints.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.markers.marker_health import EXCHANGED, SEGMENT, Health
from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.models.model import Model
from rtsim.quantity import Quantity
from rtsim.stages.markers.missing_root import is_trunk_apart
from rtsim.subjects.calibration.trunk import TRUNK
from streams.messages import Status

Array = NDArray[np.float64]

WHOLE_FRAME = int(Status.INVALID_INPUT | Status.NOT_CONVERGED)
"""Status bits that apply to all joints."""
SUSPECT, UNCERTAIN = int(Status.SUSPECT), int(Status.UNCERTAIN)
SPREADING = (int(Status.DEGRADED), SUSPECT, int(Status.IMPLAUSIBLE))
"""Status bits of a segment that also apply to the joints that depend on it."""


class JointStatus:
    """The status of each joint and segment in the present frame, by the method in use.

    Attributes
    ----------
    joints : (n_joint,) status bits of the joints (streams.messages.Status)
    segments : (n_body,) status bits of the segments
    names : names of the joints: one for every three angles of a person, or one for every body of a model
    of_angles : (n_angle,) index of the joint to which each angle of `joint_angles` belongs
    ends : two arrays (n_joint,), the proximal and the distal segment of each joint; for a joint to ground the
      distal segment in both
    is_trunk : (n_body,) bool, whether each segment is a trunk
    """

    def __init__(self, model: Model) -> None:
        self._bodies = model.names.bodies
        self._of_marker = model.markers.body
        self.is_trunk = np.array([name == TRUNK for name in self._bodies])
        named = model.names.joint_angles
        if named:
            self.names = joint_names(named)
            proximal, distal = model.joints.proximal, model.joints.distal
            self.of_angles = np.repeat(np.arange(len(distal)), 3)
        else:
            turns = model.coordinates.is_angle
            self.names = model.names.joints
            proximal, distal = model.tree.parent, np.arange(len(self._bodies))
            self.of_angles = model.tree.dof_body[model.coordinates.dof[turns]]
        self.ends = np.where(proximal >= 0, proximal, distal), np.asarray(distal)
        self._apart = self.is_trunk & is_trunk_apart(model)
        self._at_root = (proximal >= 0) & (model.tree.parent[proximal] < 0) & ~self._apart[distal]
        self._distal, self._parent = np.asarray(distal), model.tree.parent
        self._regards = regards(model.tree.parent, proximal, self._distal)
        self.joints, self.segments = np.zeros(len(self.names)), np.zeros(len(self._bodies))
        self._clear = True

    def tell(
        self,
        status: Status,
        held: Sequence[str],
        health: Health,
        vague: Sequence[int],
        unusual: Sequence[int],
        beyond: Array,
        stepped: NDArray[np.int64] | tuple[()] = (),
        turned: NDArray[np.int64] | tuple[()] = (),
    ) -> None:
        """Update the status of joints and segments.

        status : status of the frame, by its kinematics
        held : names of segments that are kept near their last pose because no marker determines them
        health : faults of the markers in this frame
        vague : indices of uncertain angles
        unusual : indices of uncertain angles that are usually certain
        beyond : (n_angle,) 1 = the angle is outside the range of its joint
        stepped : (n_body,) above 0 = displaced as one body; () = no segment is
        turned : (n_body,) above 0 = its markers may be rotated about the bone, which does not affect other
            limbs
        """
        if status == Status.OK and self._clear:
            return
        self._clear = status == Status.OK
        whole = int(status) & WHOLE_FRAME
        segments, joints = np.full(len(self._bodies), whole), np.full(len(self.names), whole)
        if status & Status.DEGRADED:
            segments[np.isin(self._bodies, held) if held else slice(None)] |= int(Status.DEGRADED)
        if status & Status.SUSPECT:
            certain = (health.fault == EXCHANGED) & (health.certain == 1)
            blamed = (health.fault != 0) & ~certain & (self._of_marker >= 0)
            segments[self._of_marker[blamed]] |= SUSPECT
            pulls = self._of_marker[blamed & (health.fault == SEGMENT) & (health.weight > 0.0)]
            off = np.flatnonzero(stepped)
            segments[off] |= SUSPECT
            segments[np.flatnonzero(turned)] |= SUSPECT
            pulls = np.append(pulls, off)
            if not self._apart[pulls].all():  # the root goes with it, and all that hangs on that
                joints |= SUSPECT
        if status & Status.IMPLAUSIBLE:
            outside = self._distal[self.of_angles[beyond == 1.0]]
            segments[outside if outside.size else slice(None)] |= int(Status.IMPLAUSIBLE)
        for bit in SPREADING:
            joints[self._regards[:, segments & bit > 0].any(axis=1)] |= bit
        missed = bool(((health.weight == 0.0) & (health.n_seen > 0)).any())
        joints[self.of_angles[list(vague)]] |= UNCERTAIN
        for j in self.of_angles[list(vague if missed else unusual)].tolist():
            joints[self._regards[:, self._distal[j]]] |= UNCERTAIN
        if self._at_root[self.of_angles[list(unusual)]].any():  # it may be the root, which all hang on
            joints |= UNCERTAIN
        self.segments[:], self.joints[:] = segments, joints

    def doubt(self) -> None:
        """Mark all joints and segments as suspect, as the markers are not those of the subject."""
        self._clear = False
        for told in (self.segments, self.joints):
            told[:] = told.astype(np.int64) | SUSPECT

    def suspect(self, joints: NDArray[np.int64]) -> None:
        """Add the status "suspect" to the joints with these indices, whatever the status of the segments."""
        self._clear = False
        self.joints[joints] = self.joints[joints].astype(np.int64) | SUSPECT

    def joints_of(self, bodies: Sequence[int] | NDArray[np.int64]) -> tuple[tuple[str, ...], ...]:
        """Return for each body the name of the joint at its proximal end, as a tuple; () for a body without a
        joint that has a status."""
        at = {int(b): name for name, b in zip(self.names, self._distal, strict=True)}
        return tuple((at[int(b)],) if int(b) in at else () for b in bodies)

    def joints_across(self, ends: Sequence[tuple[int, int]]) -> tuple[tuple[str, ...], ...]:
        """Return for each pair of bodies the names of the joints between them, and all names where there is
        none that has a status; body -1 is ground.
        """
        ways = [{*self._above(a)} ^ {*self._above(b)} for a, b in ends]
        between = [
            tuple(name for name, d in zip(self.names, self._distal, strict=True) if int(d) in way)
            for way in ways
        ]
        return tuple(names or tuple(self.names) for names in between)

    def joints_below(self) -> tuple[tuple[str, ...], ...]:
        """Return for each joint the names of the joints from it to the distal ends of its limb."""
        below = [
            tuple(name for name, d in zip(self.names, self._distal, strict=True) if b in self._above(int(d)))
            for b in self._distal.tolist()
        ]
        return tuple(below)

    def _above(self, b: int) -> list[int]:
        """Return a body and all bodies between it and ground, the root included; of ground (-1) none."""
        found = []
        while b >= 0:
            found.append(b)
            b = int(self._parent[b])
        return found

    @property
    def joints_of_angles(self) -> tuple[tuple[str, ...], ...]:
        """Joint of each angle of `joint_angles`."""
        return tuple((self.names[j],) for j in self.of_angles)

    def quantities(self) -> list[Quantity]:
        """Declare the published status: of the joints, then of the segments."""
        return [
            Quantity(
                "joint_status",
                self.joints,
                "1",
                self.names,
                meaning="bits of the frame status that concern this joint; 0 = ok",
            ),
            Quantity(
                "segment_status",
                self.segments,
                "1",
                self._bodies,
                meaning="bits of the frame status that concern this segment; 0 = ok",
            ),
        ]


def regards(
    parent: NDArray[np.int64], proximal: NDArray[np.int64], distal: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return a mask (n_joint, n_body): whether a fault of a segment affects the status of a joint.

    In a limb every segment depends on all others, so that a fault affects all joints of the limb; a fault of
    the root affects all joints, and a fault of the trunk only the joints of the trunk.

    parent : (n_body,) parent of each segment, -1 = none
    proximal, distal : (n_joint,) segments of each joint
    """
    limb = np.arange(len(parent))
    for b in range(len(parent)):  # parents come before their children
        if parent[b] >= 0 and parent[parent[b]] >= 0:
            limb[b] = limb[parent[b]]
    is_root = parent < 0
    return np.asarray((limb[distal][:, None] == limb[None, :]) | is_root[None, :])


def joint_names(angles: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the joints of these angles, three angles for each joint, with the side where it is
    given."""
    sides = (name[-2:] if name.endswith(tuple(SUFFIXES.values())) else "" for name in angles[::3])
    return tuple(name.partition("_")[0] + side for name, side in zip(angles[::3], sides, strict=True))
