"""Motion of prescribed coordinates of a simulation from a stream of results: smooth between the frames of the
stream, and coming to rest when it stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.both_sides_schema import SUFFIXES
from rtsim.errors import ConfigError
from rtsim.models.packing.couplers import N_KNOT
from rtsim.models.packing.functions import spline_at
from rtsim.simulation.results import SIMULATION
from rtsim.simulation.simulator import Simulator
from rtsim.units import ANGLES, PER_TIME, STREAMED, streamed_scale
from streams.account import plain
from streams.messages import FieldSpec, Session, Status
from streams.receiving.ring import ReceivedFrame

Array = NDArray[np.float64]

FIELDS = (
    ("sagittal_coordinates", "sagittal_speeds", "sagittal_accelerations"),
    ("coordinates", "coordinate_speeds", "coordinate_accelerations"),
)
"""Values, speeds and accelerations by their quantities, in the order in which they are looked for."""
OF_SIMULATION = (
    ("joint_angles", "joint_angle_speeds", ""),
    ("joint_displacements", "joint_displacement_speeds", ""),
)
"""The same of a simulation alone: a person's angles are those of the frame, and their speeds a filter's delay
older."""
OF_TWO_TIMES = (
    " Its joint_angles and joint_displacements are not used, as it is no simulation: their speeds may "
    "lag by the delay of a filter."
)
RAMP_S = 0.5
"""Time from rest to a stream that begins, or begins again [s]."""
SILENT_S = 0.25
"""Time without a frame after which the coordinates come to rest [s]."""
STOP_S = 0.1
"""Time in which they do [s]."""
USUAL_PERIOD_S = 0.01
SHORTEST_PERIOD_S, LONGEST_PERIOD_S = 0.001, 0.1
"""Period of a stream that states no rate, and bounds of any other's [s]: no piece of motion has no length."""
FARTHEST, FASTEST, STRONGEST = 1e6, 1e3, 1e6
"""No coordinate is, moves or speeds up more than this [rad, m], [rad/s, m/s], [rad/s^2, m/s^2]."""
JUMP = 0.5
"""A frame farther from where the frame before led to does not carry on from it [rad, m]."""
ROUND = 2.0 * np.pi
DECLARED = tuple(
    f"{', '.join(name + per for name in ANGLES)} as the unit of a rotation, "
    f"{', '.join(name + per for name in STREAMED)} "
    "as the unit of a translation"
    for per in PER_TIME
)
"""Units that a stream may declare of values, speeds and accelerations."""
LIMITS = np.array([FARTHEST, FASTEST, STRONGEST])[:, None]
KNOTS = np.array([0.0, 1.0, 2.0, 3.0, 6.0]) / 3.0
"""Knots of a piece, in its length: three cubics, and on at constant acceleration for as long again."""


class Slot(NamedTuple):
    """Place of a coordinate's value, speed and acceleration in the frames of a stream: for each the name of
    the field, and the index of the coordinate in the field.

    If the stream has no accelerations, differences of successive speeds are used.
    """

    value: tuple[str, int]
    speed: tuple[str, int]
    acceleration: tuple[str, int] | None


class MotionFeed:
    """Takes the motion of coordinates from the frames of a result stream, and writes it as piecewise cubics
    into the functions of time that prescribe these coordinates in a simulator.

    When a frame arrives, the motion of the next period is planned. It begins at the present value, speed and
    acceleration of the coordinate. It ends at those of the frame, extrapolated by one period at constant
    acceleration. In between it consists of three cubics with a continuous second derivative. Another period
    at constant acceleration follows, in case the next frame is late, if only by the clock's rounding. So the
    motion has no delay except that of the frames. When a stream begins, or continues at another position, the
    coordinates are moved to it within RAMP_S. When the stream stops, they come to rest.

    Attributes
    ----------
    counters : frames used and left out, jumps, ticks without motion; sentences : messages to be reported
    heard : function that is called with everything that moves the coordinates, in the form that `again`
        reads: the values of a frame that is used, or the period of a stream that begins [s]
    """

    def __init__(self, simulator: Simulator, names: Sequence[str]) -> None:
        self.simulator, self.names = simulator, tuple(names)
        self.counters: Counter[str] = Counter(
            motion_taken=0, motion_unusable=0, motion_jumps=0, motion_missing=0
        )
        self.sentences: list[str] = []
        self.heard: Callable[[Mapping[str, Any]], None] = unheard
        model, functions = simulator.model, simulator.simulation.system.tree.functions
        own = [model.coordinates.names.index(name) for name in names]
        self._turns = model.coordinates.is_angle[own]
        rows = [int(np.flatnonzero(model.couplers.dof == model.coordinates.dof[k])[0]) for k in own]
        starts = functions.start[model.couplers.function[rows]]
        self._knots: Sequence[Array] = [functions.data[s : s + 3 * N_KNOT].reshape(3, N_KNOT) for s in starts]
        # from the way of the coordinates to that of the stream
        self._ramp: Sequence[Array] = [np.zeros((3, N_KNOT)) for _ in names]
        self._state = np.zeros((3, len(names)))  # value, speed, acceleration, of the coordinates as they are
        self._frame = np.zeros((3, len(names)))  # and of the newest frame that could be used
        self._session: Session | None = None
        self._slots: list[Slot] = []
        self._scale = np.ones((3, len(names)))  # rad or m, their rates and the rates of those, in its units
        self._period, self._time = USUAL_PERIOD_S, np.nan  # time of that frame
        self._following = self._new = False
        self._now = self._heard = self._joined = simulator.time

    @property
    def silent(self) -> bool:
        """Whether the stream has no motion for the coordinates at present."""
        return not self._following

    def admit(self, message: ReceivedFrame) -> None:
        """Take value, speed and acceleration of the coordinates from a received frame; frames without them,
        with impossible values or from a stale sender are left out.
        """
        if message.session is not self._session:
            self._turn_to(message.session)
        if message.status & int(Status.STALE):
            return
        if message.time == self._time:  # said again, or a sender whose clock stands: no motion
            self.counters["motion_unusable"] += 1
            return
        found = self._read(message)
        if found is None or not np.isfinite(found).all():
            self.counters["motion_unusable"] += 1
            return
        if (np.abs(found) > LIMITS).any():
            self.counters["motion_unusable"] += 1
            self._say(
                f"Frames of the prescribed motion are left out: they exceed {FARTHEST:g} rad or m, "
                f"{FASTEST:g} rad/s or m/s, or {STRONGEST:g} rad/s^2 or m/s^2."
            )
            return
        self._time = message.time
        self._take(found)

    def again(self, told: Mapping[str, Any]) -> None:
        """Use, in the replay of an earlier run, a part of the motion that the earlier run received.

        told : record with which that run called `heard`; ConfigError if it does not fit the coordinates
        """
        try:
            numbers = np.array(told.get("motion", [told.get("period_s")]), dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if "motion" not in told and numbers.shape == (1,) and numbers[0] > 0.0:
            self._begin(float(numbers[0]))
        elif numbers.shape == (self._frame.size,) and (np.abs(numbers.reshape(3, -1)) <= LIMITS).all():
            self._take(numbers.reshape(self._frame.shape))
        else:
            raise ConfigError(
                f"the recorded motion does not fit the prescribed coordinates {', '.join(self.names)}",
                where="--again", remedy="replay it with the model, --motion and --prescribe of that run",
            )  # fmt: skip

    def drive(self, time: float) -> Status:
        """Plan how the coordinates move after the present tick of the simulation, by the newest frame; return
        the status of the tick: DEGRADED while no motion arrives, and when the motion jumps.

        time : time of the tick [s]
        """
        self._now = time
        if self._new:
            self._new = False
            if self._follow(time):
                return Status.DEGRADED
        elif self._following and time - self._heard > SILENT_S:
            self._halt()
            self._say(
                "No more frames of the prescribed motion arrive; the coordinates that it moves come to rest."
            )
        if self._following:
            return Status.OK
        self.counters["motion_missing"] += 1
        return Status.DEGRADED

    def restart(self) -> None:
        """Follow a simulation that has returned to its start, where its clock is set back: the coordinates
        rest at their present values until the next frame.
        """
        self._look(self._now)
        self._following, self._now = False, self.simulator.time
        self._rest(self._now)

    def _take(self, found: Array) -> None:
        """Store value, speed and acceleration (3, n) of the coordinates from a frame as the newest ones."""
        self._frame, self._new = found, True
        self.counters["motion_taken"] += 1
        self.heard({"motion": found.ravel().tolist()})

    def _begin(self, period_s: float) -> None:
        """Begin to follow another stream with frames every `period_s` [s]; the coordinates rest until its
        first frame.
        """
        self._period = min(max(period_s, SHORTEST_PERIOD_S), LONGEST_PERIOD_S)
        self._halt()
        self._new, self._time = False, np.nan
        self.heard({"period_s": self._period})

    def _turn_to(self, session: Session) -> None:
        """Find the fields of a new session of the stream that contain the coordinates."""
        self._session = session
        fields = {field.name: field for field in session.fields if len(field.shape) == 1}
        labels = {name: tuple(field.labels) for name, field in fields.items()}
        alike = FIELDS + OF_SIMULATION if session.meta.get("source") == SIMULATION else FIELDS
        slots = [slot_of(name, labels, alike) for name in self.names]
        lacking = [name for name, slot in zip(self.names, slots, strict=True) if slot is None]
        self._slots = [slot for slot in slots if slot is not None] if not lacking else []
        if lacking:
            unused = any(slot_of(name, labels, OF_SIMULATION) for name in lacking)
            self._say(
                f"The stream of the prescribed motion lacks {' and '.join(lacking)} with speeds: its sender "
                "must be a run with the stage `rates`, or a simulation with this coordinate."
                f"{OF_TWO_TIMES * unused}"
            )
        self._find_scales(fields)
        self._begin(1.0 / session.rate if session.rate > 0.0 else USUAL_PERIOD_S)

    def _find_scales(self, fields: Mapping[str, FieldSpec]) -> None:
        """Look up the units of the coordinates' fields and their scale factors; use none of the fields if one
        has an unsuitable unit."""
        self._scale[:] = 1.0
        for k, slot in enumerate(self._slots):
            for row, place in enumerate(slot):
                if place is not None:
                    unit = fields[place[0]].unit
                    self._scale[row, k] = streamed_scale(unit, bool(self._turns[k]), row)
                    if not self._scale[row, k]:
                        self._say(
                            f"The stream gives {self.names[k]} in {unit!r} ({place[0]}), which is not a unit "
                            f"of this coordinate: its descriptor must state {DECLARED[row]}."
                        )
        if not self._scale.all():
            self._slots = []

    def _read(self, message: ReceivedFrame) -> Array | None:
        """Return value, speed and acceleration in a frame, (3, n); None if the stream lacks a coordinate."""
        if not self._slots:
            return None
        found, since = np.zeros(self._frame.shape), message.time - self._time
        for k, slot in enumerate(self._slots):
            for row, place in enumerate(slot):
                if place is not None:
                    found[row, k] = self._scale[row, k] * float(message.data[place[0]][place[1]])
            if slot.acceleration is not None:
                continue
            if SHORTEST_PERIOD_S <= since <= LONGEST_PERIOD_S:
                # without it, pieces would make up for half of it times the square of the period
                found[2, k] = (found[1, k] - self._frame[1, k]) / since
        return found

    def _follow(self, time: float) -> bool:
        """Plan the motion towards the newest frame, extrapolated by one period. If the coordinates are still
        being moved to the position of the stream, the remaining distance is included.

        Returns whether the frame does not continue the motion of the frame before, so that the transition to
        the stream begins again.
        """
        self._look(time)
        value, speed, acceleration = self._frame
        value = value + np.where(self._turns, ROUND * np.round((self._state[0] - value) / ROUND), 0.0)
        left = states(self._ramp, time)[0] if time < self._joined else 0.0
        jumped = self._following and bool((np.abs(self._state[0] - left - value) > JUMP).any())
        if jumped:
            self.counters["motion_jumps"] += 1
            self._say(
                f"The stream of the prescribed motion jumps: within {RAMP_S:g} s its coordinates are "
                "moved to the position of the newest frame."
            )
        if jumped or not self._following:
            self._following, self._joined = True, time + RAMP_S
            apart = self._state - (value, speed, acceleration)
            plan(self._ramp, time, RAMP_S, apart, np.zeros(apart.shape))
        T = self._period
        gained = T * acceleration
        ahead = np.array((value + T * (speed + 0.5 * gained), speed + gained, acceleration))
        if time + T < self._joined:
            ahead += states(self._ramp, time + T)
        plan(self._knots, time, T, self._state, ahead)
        self._heard = time
        return jumped

    def _halt(self) -> None:
        """Stop following the stream, and come to rest."""
        if self._following:
            self._following = False
            self._look(self._now)
            self._rest(self._now)

    def _rest(self, time: float) -> None:
        """Plan the motion so that it comes to rest nearby."""
        value, speed, _ = self._state
        still = 0.0 * speed
        plan(self._knots, time, STOP_S, self._state, np.array((value + 0.5 * STOP_S * speed, still, still)))

    def _say(self, sentence: str) -> None:
        sentence = plain(sentence)
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def _look(self, time: float) -> None:
        """Evaluate value, speed and acceleration of the coordinates at a time into the present state."""
        self._state = states(self._knots, time)


def unheard(told: Mapping[str, Any]) -> None:
    """Discard a record of the motion: the default of MotionFeed.heard, when nobody records the motion."""


def states(pieces: Sequence[Array], time: float) -> Array:
    """Return values, speeds and accelerations of n coordinates at a time [s], (3, n); pieces : motion of each
    as piecewise cubics
    """
    return np.array([spline_at(knots, time) for knots in pieces]).T


def plan(pieces: Sequence[Array], time: float, length: float, begin: Array, end: Array) -> None:
    """Write the motions of n coordinates into `pieces`, (3, N_KNOT) each. They lead from the state begin :
    (3, n) (values, speeds, accelerations) at a time [s] to the state end : (3, n) at `length` [s] later,
    and continue beyond it.
    """
    scale = np.array([1.0, length, length**2])[:, None]
    begin, end = scale * begin, scale * end
    inner = PIECE @ np.concatenate((begin, end))
    beyond = end[0] + end[1] + 0.5 * end[2]
    at = time + length * KNOTS
    for k, knots in enumerate(pieces):
        knots[0] = at
        knots[1] = begin[0, k], inner[0, k], inner[1, k], end[0, k], beyond[k]
        knots[2] = begin[2, k], inner[2, k], inner[3, k], end[2, k], end[2, k]
        knots[2] /= length**2


def piece() -> Array:
    """Return a matrix (4, 6) that gives three cubics on thirds of [0, 1] from their values at both ends.

    The matrix maps value, first and second derivative at 0 and at 1 to the values and second derivatives at
    the inner ends of the thirds. Value, first and second derivative are continuous there.

    Source for cubics with given derivatives at their ends: de Boor (1978), A Practical Guide to Splines,
    chapter IV.
    """
    h = 1.0 / 3.0
    # unknown: y1, y2, m1, m2; slope at 0, slope at 1, equal slopes at 1/3 and 2/3
    left = np.array([
        [1.0 / h, 0.0, -h / 6.0, 0.0],
        [0.0, -1.0 / h, 0.0, h / 6.0],
        [2.0 / h, -1.0 / h, 2.0 * h / 3.0, h / 6.0],
        [-1.0 / h, 2.0 / h, h / 6.0, 2.0 * h / 3.0],
    ])  # fmt: skip
    right = np.array([
        [1.0 / h, 1.0, h / 3.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, -1.0 / h, 1.0, -h / 3.0],
        [1.0 / h, 0.0, -h / 6.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0 / h, 0.0, -h / 6.0],
    ])  # fmt: skip
    found: Array = np.linalg.solve(left, right)
    return found


PIECE = piece()


def slot_of(
    name: str, labels: Mapping[str, tuple[str, ...]], rows: Sequence[tuple[str, str, str]] = FIELDS
) -> Slot | None:
    """Find where a stream publishes the value, speed and acceleration of a coordinate: the fields, and the
    index in each. Return None if the stream does not have both value and speed.

    name : name of the coordinate. If no label equals it, its ending for the side is dropped: knee_flexion_r
        is also found as knee_flexion, as a stream labels the joints if only one leg of a person is tracked
    labels : labels of the entries of each field, by the name of the field
    rows : names of the fields of values, speeds and accelerations that may be used, the first ones first
    """
    stem = name[:-2] if name[-2:] in SUFFIXES.values() else name
    for label in dict.fromkeys((name, stem)):
        for value, speed, acceleration in rows:
            own, its = labels.get(value, ()), labels.get(speed, ())
            if label in own and label in its:
                more = labels.get(acceleration, ())
                last = (acceleration, more.index(label)) if label in more else None
                return Slot((value, own.index(label)), (speed, its.index(label)), last)
    return None
