"""Gait phase: the phase of the stride of each leg, its confidence, and heel strikes and toe-offs in real
time.

It is computed from the forward position of each foot relative to the pelvis, from force plates under the
feet, and from events that are marked in a C3D file. No later frames are used (rtsim/methods/gait_phase.py,
docs/gait_phase.md).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtsim.config.reading import is_file
from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.files.gait.events import OFF, STRIKE, read_events
from rtsim.files.markers.trial import count_of
from rtsim.methods.frame_pace import FramePace, seconds_of
from rtsim.methods.gait.whole_cycles import GAP_S, longest_step
from rtsim.methods.gait_phase import HEEL_STRIKE, TOE_OFF, FootStride, GaitPhase, falling
from rtsim.methods.person_motion import WalkDirection
from rtsim.models.feet import SidesUnknownError, find_feet, root_of, side_of_name
from rtsim.models.model import Model, build
from rtsim.models.named_feet import feet_of
from rtsim.models.neutral import neutral_places
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import GAIT, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.markers.missing_root import angles_at_root
from rtsim.stages.plates import FootLoads
from rtsim.stages.stage import FINE, Stage, StageOutcome
from rtsim.subjects.markers.labs import SIDES
from rtsim.subjects.subject import segments_of
from streams.messages import Curves, Session, time_rate
from streams.receiving.ring import ReceivedFrame

FORWARDS = np.array([1.0, 0.0, 0.0])
UNSEEN_S = (0.1, 0.25)
"""Times without a visible foot after which the confidence in its gait phase begins to fall, and after which
it is zero [s]; for live frames by this computer's clock."""
MARKED = "The gait phase also uses {events} marked in the file, each from its own time on."
WITHOUT_ROOT = "No visible marker determines the {name}, so the gait phase is not known."


class GaitPhases(Stage):
    """Phase, confidence, stride time and events of the right and the left foot; NaN if unknown.

    marked : foot strikes and foot offs marked in the file of a recording, in order: time [s], side and kind
    sideless : most proximal body of the model's only foot, if neither a person nor its name states the side;
        None for other feet
    """

    def __init__(
        self,
        kinematics: Kinematics,
        feet: Sequence[tuple[int, int]],
        forwards: np.ndarray,
        loads: FootLoads | None = None,
    ) -> None:
        """Prepare the gait phases of the tracked feet.

        feet : body and side (0 right, 1 left) of each foot; forwards : (3,) - forward direction in the axes
            of the root body; loads : plate loads of the feet, if there are plates
        """
        super().__init__()
        self.kinematics, self.loads = kinematics, loads
        self._bodies, self._sides = [b for b, _ in feet], [side for _, side in feet]
        parent = kinematics.estimator.model.tree.parent
        self._root = root_of(parent, self._bodies[0])
        self._forwards = forwards
        self._at_root = np.zeros(0, np.int64)  # angles of the joints there
        self._phases = GaitPhase(len(feet))
        self._bearers, self._bears = list(self._sides), [True] * len(feet)
        self._time, self._gap_s = math.nan, GAP_S
        self._pace, self._direction = FramePace(UNSEEN_S[0]), WalkDirection()
        self._seen = [-math.inf] * len(feet)  # when a frame that went on told of the foot [s]
        self._against = ""  # why nobody walks forwards
        self._values = values_for(len(SIDES))
        self.marked: list[tuple[float, int, int]] = []  # as of `marked_events`
        self._n_marked = 0
        self.sideless: int | None = None

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), forget the strides and the direction of walking found
        so far."""
        if not anew:
            return
        self._at_root = angles_at_root(self.kinematics.estimator.model, self._root)
        self._begin_walk()
        rate = time_rate(session)
        self._pace.begin(rate)
        self._gap_s = longest_step(rate)
        self._direction.begin()
        self._against = ""
        self._seen = [-math.inf] * len(self._bodies)
        if self.loads is not None:
            self._bearers = self.bearers(self.loads)
        self._n_marked = 0
        if self.marked:
            n = Counter(kind for _, _, kind in self.marked)
            words = ((HEEL_STRIKE, "foot strike"), (TOE_OFF, "foot off"))
            marked = " and ".join(count_of(n[kind], word) for kind, word in words if n[kind])
            self.sentences.append(MARKED.format(events=marked))

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Update the gait phase from the feet of this frame."""
        self.n_frame += 1
        goes_on = self._pace.take(frame)
        played_again = frame.time < self._time
        if played_again or self._pace.leapt:
            self._begin_walk(counting_on=not played_again)
            self._direction.begin()
            self._n_marked = bisect_left(self.marked, (frame.time, 0, 0))
        if frame.time - self._time > self._gap_s:
            self._bears = [True] * len(self._bodies)  # nor is one that came while frames were missing
        self._time = frame.time
        places = self._places(frame.time)
        if not self._against:
            self._phases.add(frame.time, places)
            if self.loads is not None:
                self._press(self.loads, frame.time)
            self._go_as_marked(frame.time)
        self._fade(frame, places, goes_on)
        return FINE

    def stride(self, side: int) -> FootStride | None:
        """Return the state of the stride of a side (0 right, 1 left); None if the model has no foot there."""
        if side not in self._sides:
            return None
        return self._phases.strides[self._sides.index(side)]

    def report(self) -> None:
        """Publish the gait phase of each side."""
        for stride, side in zip(self._phases.strides, self._sides, strict=True):
            tell(stride, self._values, side)

    def quantities(self) -> list[Quantity]:
        """Return the phases of the right and the left foot; NaN for a foot that is not tracked."""
        return quantities_of(self._values, SIDES)

    def _fade(self, frame: ReceivedFrame, places: list[float], goes_on: bool) -> None:
        """Reduce the confidence in the phase of a foot while it is not visible or frames are missing,
        according to the time that has passed.

        places : position of each foot ahead of the pelvis [m], NaN = not visible
        goes_on : whether this frame follows the previous one at the stated rate
        """
        now_s = seconds_of(frame)
        for k, place in enumerate(places):
            if goes_on and place == place:
                self._seen[k] = now_s
            elif now_s - self._seen[k] > UNSEEN_S[0]:
                self._phases.strides[k].confidence *= falling(now_s - self._seen[k], UNSEEN_S)

    def _turn_against(self, against: str) -> None:
        """Discard the gait phase when a forward walk ends or a new one begins; only the counts of strides are
        kept.

        against : sentence on why the person does not walk forwards, "" = walks forwards
        """
        if bool(against) != bool(self._against):
            self._begin_walk(counting_on=True)
        self._against = against

    def _begin_walk(self, counting_on: bool = False) -> None:
        """Forget the strides so far; counting_on : whether the counts of strikes and toe-offs go on"""
        former, self._phases = self._phases, GaitPhase(len(self._bodies))
        for old, new in zip(former.strides, self._phases.strides, strict=True):
            if counting_on:
                new.n_strike, new.n_off = old.n_strike, old.n_off
        self._time = math.nan
        self._bears = [True] * len(self._bodies)  # a load that is there from the beginning is no strike

    def _places(self, time: float) -> list[float]:
        """Return the distance of each foot ahead of the root [m], NaN without a pose.

        It also decides whether the person walks forwards.
        """
        if not self.kinematics.solved:
            return [math.nan] * len(self._bodies)
        if self.kinematics.unknown[self._at_root].any():
            name = self.kinematics.estimator.model.names.bodies[self._root]
            self.count("gait_without_root", WITHOUT_ROOT.format(name=name))
            return [math.nan] * len(self._bodies)
        position, rotation = self.kinematics.estimator.pose
        x, _, z = (rotation[self._root] @ self._forwards).tolist()
        size = math.hypot(x, z)
        if size == 0.0:
            return [math.nan] * len(self._bodies)
        root, forwards = position[self._root], (x / size, z / size)
        feet = position[self._bodies]
        places: list[float] = ((feet - root) @ (forwards[0], 0.0, forwards[1])).tolist()
        seen = list(zip(places, feet[:, 1].tolist(), strict=True))
        self._turn_against(self._direction.look(time, root, forwards, seen))
        return places

    def _press(self, loads: FootLoads, time: float) -> None:
        """Report a foot strike to the gait phases for each foot whose plate load has risen above the
        threshold.
        """
        for k, bearer in enumerate(self._bearers):
            load = float(loads.force[bearer, 1])
            if load > THRESHOLD and not self._bears[k]:
                self._phases.press(k, time)
            self._bears[k] = not load <= THRESHOLD  # one that may stand elsewhere, too

    def _go_as_marked(self, time: float) -> None:
        """Report the foot strikes and foot offs that are marked in the file up to a time [s]."""
        while self._n_marked < len(self.marked) and self.marked[self._n_marked][0] <= time:
            at, side, kind = self.marked[self._n_marked]
            self._n_marked += 1
            if side in self._sides:
                self._phases.press(self._sides.index(side), at, kind)

    def bearers(self, loads: FootLoads) -> list[int]:
        """Return for each tracked foot its index among the feet of `loads`, the stage that assigns the loads
        of force plates to feet, so that the load on a tracked foot can be looked up.

        A person's foot is found there by its markers, not by its side, which marker labels may state wrongly.
        """
        segments, names = segments_of(self.kinematics.subject), self.kinematics.estimator.model.names.bodies
        found = []
        for body, side in zip(self._bodies, self._sides, strict=True):
            segment = segments.get(names[body])
            found.append(side if segment is None else loads.bearer_with(segment.markers_mm, SIDES[side]))
        return found


def values_for(n: int) -> dict[str, np.ndarray]:
    """Return arrays (n,) for the published results of n legs by name (phase, confidence, stride time, ...),
    filled with NaN.
    """
    return {name: np.full(n, math.nan) for name in MEANINGS}


def tell(stride: FootStride, values: dict[str, np.ndarray], k: int) -> None:
    """Write phase, confidence, stride time and counts of events of a stride into the result arrays `values`,
    in the place of leg k.
    """
    told = (stride.phase, stride.confidence, stride.length, stride.n_strike, stride.n_off)
    for row, value in zip(values.values(), told, strict=True):
        row[k] = value


def quantities_of(values: dict[str, np.ndarray], legs: tuple[str, ...]) -> list[Quantity]:
    """Return the results of legs as quantities, with the names of the legs."""
    return [
        Quantity(name, values[name], unit, legs, curves=curves, meaning=meaning)
        for name, (unit, curves, meaning) in MEANINGS.items()
    ]


def feet_in(model: Model, setting: StageContext) -> tuple[list[tuple[int, int]], np.ndarray, int | None]:
    """Find the feet of a model, at most one on each side, and the forward direction in the neutral pose.

    Returns body and side (0 right, 1 left) of each foot that a joint connects to a parent body, the forward
    direction (3,) in the axes of the root body, such as the pelvis, and `sideless` of GaitPhases.
    SidesUnknownError for a model with two feet of which nothing tells which is the right one.
    """
    if setting.subject is not None:
        of_person = feet_of(model.names.bodies, setting.subject.side)
        return moved_by_a_joint([(b, SIDES.index(side)) for b, side in of_person], model), FORWARDS, None
    try:
        found = find_feet(build(setting.spec))
    except SidesUnknownError:  # there are feet, and whoever wrote the model can name them
        raise
    except ConfigError:
        return [], FORWARDS, None
    feet = moved_by_a_joint([(foot.bodies[0], foot.side) for foot in found], model)
    if not feet:
        return [], FORWARDS, None
    _, rotation = neutral_places(model)
    root = min(found[0].bodies)  # parents come first
    sideless = root if len(found) == 1 and not side_of_name(model.names.bodies[root]) else None
    return feet, rotation[root_of(model.tree.parent, feet[0][0])].T @ FORWARDS, sideless


def moved_by_a_joint(feet: list[tuple[int, int]], model: Model) -> list[tuple[int, int]]:
    """Return those of the feet whose body has a parent body in the model.

    A foot that is itself a root body of the kinematic tree is left out, as there is no pelvis or other root
    body relative to which its forward position could be measured.

    feet : index of the body of each foot, and its side (0 right, 1 left)
    """
    return [(body, side) for body, side in feet if model.tree.parent[body] >= 0]


def make(setting: StageContext) -> GaitPhases | None:
    """Return the stage for a model with feet and a body relative to which their forward position is measured,
    such as the pelvis; None for other models.
    """
    kinematics = setting.stage(Kinematics)
    model = kinematics.estimator.model
    feet, forwards, sideless = feet_in(model, setting)
    if not feet:
        return None
    stage = GaitPhases(kinematics, feet, forwards, setting.find(FootLoads))
    stage.sideless = sideless
    stage.marked = marked_events(setting.run.source, setting.run.person)
    return stage


def marked_events(source: str, person: str) -> list[tuple[float, int, int]]:
    """Read times [s], sides (0 right, 1 left) and kinds of the foot strikes and foot offs in a C3D file, in
    order.

    The result is empty for other sources, and for a file that cannot be read; the reader of the markers
    reports such a file.
    """
    if Path(source).suffix.lower() != ".c3d" or not is_file(source):
        return []
    try:
        found = read_events(source, person).events
    except ConfigError:
        return []
    kinds = {STRIKE: HEEL_STRIKE, OFF: TOE_OFF}
    return sorted((e.time, SIDES.index(e.side), kinds[e.kind]) for e in found if e.kind in kinds and e.side)


MEANINGS: dict[str, tuple[str, Curves | None, str]] = {
    "gait_phase": (
        "1",
        Curves("Gait phase", "phase", 2, 0.1),
        "fraction of the gait cycle since the last heel strike, 0 to 1; NaN = nobody walks",
    ),
    "gait_phase_confidence": ("1", None, "confidence in the gait phase, 0 to 1; 0 when the walk has stopped"),
    "stride_times": ("s", None, "duration of the current stride"),
    "heel_strikes": ("1", None, "so far"),
    "toe_offs": ("1", None, "so far"),
}


STAGE = StageDeclaration(make=make, needs=("kinematics",), provides=(GAIT,))
