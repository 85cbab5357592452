"""Detection of foot strikes and foot offs in live frames, from force plates and from the motion of the feet.

With plates, an event is the instant at which the load of a foot crosses a threshold. If no plate shows the
event, it is found from the positions of the feet relative to the pelvis, as for the gait phase of a run
(rtsim/methods/gait_phase.py, after Zeni et al. 2008).
"""

from __future__ import annotations

import math
from collections import deque

from kernels.plates.plate_limits import THRESHOLD
from rtsim.files.gait.events import MARKERS, OFF, PLATES, STRIKE, GaitEvent
from rtsim.files.tables.legs import SIDES, groups_of
from rtsim.methods.gait.found_events import SAME_S, nearest
from rtsim.methods.gait.whole_cycles import GAP_S, longest_step
from rtsim.methods.gait_phase import HEEL_STRIKE, Swing
from rtsim.methods.person_motion import WalkDirection
from streams.messages import FieldSpec, Session, speed_of, time_rate
from streams.receiving.ring import ReceivedFrame

N_KEPT = 4096
"""Number of events that are kept: ten minutes of quick steps."""
LATEST_S = 1.0
"""Longest delay by which an event may be found after one that happened later [s]."""
ROOT, FOOT, LOADS = "pelvis", "foot", "foot_loads"


class LiveGaitEvents:
    """Finds foot strikes and foot offs in the frames of a session as they arrive.

    kept : events in the order in which they were found, at times on the axis of the window's curves [s]
    can_tell : whether the session has loads or positions of the feet, in which events can be found
    n_found : number of events so far
    """

    def __init__(self) -> None:
        self.kept: deque[GaitEvent] = deque(maxlen=N_KEPT)
        self.can_tell = False
        self.n_found = 0
        self._root, self._feet, self._sides = 0, list[int](), list[str]()
        self._loads: list[tuple[str, int]] = []
        self._time, self._gap, self._speed = -math.inf, GAP_S, 1.0
        self._restart()

    def begin(self, session: Session) -> None:
        """Prepare for the frames of a session from its descriptor; stored events stay until `clear`."""
        specs = {spec.name: spec for spec in session.fields}
        own = str(session.meta.get("side") or "")
        self._feet, self._sides = [], []
        place, turn = specs.get("segment_positions"), specs.get("segment_rotations")
        if place is not None and turn is not None and _are_segments(place, turn) and ROOT in place.labels:
            labels = list(place.labels)
            self._root = labels.index(ROOT)
            groups = groups_of(labels, own if own in SIDES else "")
            of_foot = next((group.of for group in groups if group.name == FOOT), {})
            self._sides = [side for side in of_foot if side]
            self._feet = [labels.index(of_foot[side]) for side in self._sides]
        loads = specs.get(LOADS)
        there = loads is not None and loads.unit == "N" and tuple(loads.shape) == (len(loads.labels),)
        self._loads = [(s, k) for k, s in enumerate(loads.labels) if s in SIDES] if there and loads else []
        self.can_tell = bool(self._feet or self._loads)
        rate, self._speed = time_rate(session), speed_of(session)
        self._gap = longest_step(rate)
        self._restart()

    def since(self, time: float) -> list[GaitEvent]:
        """Return the events at or after a time [s], searched from the newest event backwards."""
        found = []
        for event in reversed(self.kept):  # by plates and by markers they come in turns, nearly in order
            if event.time < time - LATEST_S:
                break
            if event.time >= time:
                found.append(event)
        return found[::-1]

    def clear(self) -> None:
        """Discard the foot strikes and foot offs that are shown (`kept`)."""
        self.kept.clear()

    def look(self, frame: ReceivedFrame, now: float) -> None:
        """Search a frame for foot strikes and foot offs; now : its time on the axis of the curves [s]."""
        if not self.can_tell:
            return
        if not self._time <= frame.time <= self._time + 1.0:
            self._restart()
        for event in [*self._by_plates(frame), *self._by_markers(frame)]:
            self._keep(event._replace(time=now + (event.time - frame.time) / self._speed))
        self._time = frame.time

    def _restart(self) -> None:
        self._time = -math.inf
        self._swings = [Swing() for _ in self._feet]
        self._direction = WalkDirection()
        self._load: dict[str, float] = {}

    def _keep(self, event: GaitEvent) -> None:
        about = self.since(event.time - SAME_S)
        if event.by == MARKERS and nearest(event, [e for e in about if e.by == PLATES], SAME_S):
            return
        same = nearest(event, [e for e in about if e.by == MARKERS], SAME_S)
        if event.by == PLATES and same is not None:
            self.kept.remove(same)
        self.kept.append(event)
        self.n_found += 1

    def _by_plates(self, frame: ReceivedFrame) -> list[GaitEvent]:
        """Return the events at which the load of a foot crossed the threshold since the previous frame, with
        linearly interpolated times; none where frames are missing in between, as nobody knows when it was.
        """
        found = []
        if frame.time - self._time > self._gap:
            self._load.clear()
        for side, k in self._loads:
            load = float(frame.data[LOADS][k])
            before = self._load.get(side, math.nan)
            self._load[side] = load
            if math.isfinite(before) and math.isfinite(load) and (before > THRESHOLD) != (load > THRESHOLD):
                part = (THRESHOLD - before) / (load - before)
                kind = STRIKE if load > THRESHOLD else OFF
                found.append(
                    GaitEvent(self._time + part * (frame.time - self._time), side, kind, kind, PLATES)
                )
        return found

    def _by_markers(self, frame: ReceivedFrame) -> list[GaitEvent]:
        """Return the events at which a foot began to move backwards, or forwards, relative to the pelvis."""
        if not self._feet:
            return []
        positions, rotations = frame.data["segment_positions"], frame.data["segment_rotations"]
        x, _, z = rotations[self._root, :, 0].tolist()  # forwards, by the pelvis
        pelvis = positions[self._root].tolist()  # an array of three numbers takes three times as long
        places = [positions[k].tolist() for k in self._feet]
        size = math.hypot(x, z)
        if not (size > 0.0 and all(map(math.isfinite, pelvis))):
            return []
        x, z = x / size, z / size
        ahead = [(place[0] - pelvis[0]) * x + (place[2] - pelvis[2]) * z for place in places]
        seen = [(far, place[1]) for far, place in zip(ahead, places, strict=True)]
        if self._direction.look(frame.time, pelvis, (x, z), seen):
            self._swings = [Swing() for _ in self._feet]  # nobody walks forwards
            return []
        found = []
        for side, swing, place in zip(self._sides, self._swings, ahead, strict=True):
            event = swing.add(frame.time, place) if math.isfinite(place) else None
            if event is not None:
                kind = STRIKE if event.kind == HEEL_STRIKE else OFF
                found.append(GaitEvent(event.time, side, kind, kind, MARKERS))
        return found


def _are_segments(place: FieldSpec, turn: FieldSpec) -> bool:
    n = len(place.labels)
    return tuple(place.shape) == (n, 3) and tuple(turn.shape) == (n, 3, 3)
