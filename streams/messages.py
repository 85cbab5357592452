"""The message types of the protocol, as typed records; docs/protocol.md specifies each key."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import force_setattr

SCHEMA_VERSION = 1

StreamName = Literal["markers", "forces", "result"]
STREAM_NAMES: tuple[StreamName, ...] = ("markers", "forces", "result")

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Sequence numbers, clocks in nanoseconds and other whole numbers that never go below zero."""

MAX_DEPTH = 8
"""Deepest nesting of lists and maps in `meta` and `args`."""


if TYPE_CHECKING:
    PlainMap = dict[str, Any]
else:
    # Text keys, not any: keys that a sender chooses so that all have the same hash make a map of a megabyte
    # take minutes, and only the hash of text cannot be known to it.
    Plain = str | float | int | bool
    for _ in range(MAX_DEPTH - 1):
        Plain = str | float | int | bool | list[Plain] | dict[str, Plain]
    PlainMap = dict[str, Plain]


class Status(IntFlag):
    """Status bits of a result, which say how far the solution of its frame can be trusted; several may be
    set.
    """

    OK = 0
    LATE = 1
    DEGRADED = 2
    STALE = 4
    NOT_CONVERGED = 8
    INVALID_INPUT = 16
    UNCERTAIN = 32
    SUSPECT = 64
    IMPLAUSIBLE = 128

    def names(self) -> str:
        """Return the bits that are set, in words, e.g. "late, degraded"; "ok" when none is set."""
        words = [bit.name.lower() for bit in Status if bit.name and self & bit]
        unknown = int(self) & ~sum(Status)
        if unknown:
            words.append(f"unknown bits {unknown:#x}")
        return ", ".join(words) if words else "ok"


UNUSABLE = Status.STALE | Status.NOT_CONVERGED | Status.INVALID_INPUT
"""Status bits of a result that must not be used, as it does not describe its frame."""

Label = Annotated[str, Meta(max_length=128)]
Unit = Annotated[str, Meta(max_length=32)]
Joints = Annotated[Sequence[Label], Meta(max_length=64)]
Number = Annotated[float, Meta(ge=0.0)]
Bounded = Annotated[float, Meta(ge=-1e9, le=1e9)]
ZEROS_MOST = 1024


class Curves(Struct, frozen=True):
    """How to draw a one-dimensional field as curves over time, one for each entry.

    panel : title of its panel; empty = one panel for each joint that the labels name
    axis : title of the vertical axis
    column : column of panels in which it is drawn, 0, 1, ... from the left
    least : least span of the vertical axis, in the field's unit
    from_zero : whether the vertical axis begins at zero
    zero : for each entry a value, such as that in the neutral pose, that is subtracted before drawing; () = 0
    """

    panel: Annotated[str, Meta(max_length=64)] = ""
    axis: Annotated[str, Meta(max_length=64)] = ""
    column: Annotated[int, Meta(ge=0, le=7)] = 0
    least: Number = 0.0
    from_zero: bool = False
    zero: Annotated[tuple[Bounded, ...], Meta(max_length=ZEROS_MOST)] = ()


class Image(Struct, frozen=True):
    """How to draw a field as an image, if it has two axes; if it has three, each entry of the first axis is
    an image with a label.

    title : title of its panel; across, along : size of a cell from column to column and from row to row [mm]
    """

    title: Annotated[str, Meta(max_length=64)] = ""
    across: Number = 1.0
    along: Number = 1.0


class FieldSpec(Struct, frozen=True):
    """Description of one array that every frame has.

    name, shape, unit : of the array; labels : names of the entries of its first axis, parts : of its second
    frame : axes in which vectors are given, "ground" or in words
    of : for a standard deviation or mask, the name of the field of values to which it belongs
    role : whether the array is a value, a standard deviation or a mask
    curves : how it is drawn over time
    image : how it is drawn as an image
    meaning : a one-line description
    as_is : labels of the entries that are not converted when files convert the field to another unit
    joints : for each entry of the first axis the joints that it depends on, by their labels in the field
        `joint_status`
    units : unit of each entry of the first axis, if they differ; () = all have `unit`
    """

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    shape: Annotated[Sequence[Count], Meta(max_length=4)]
    unit: Unit
    labels: Annotated[Sequence[Label], Meta(max_length=4096)] = ()
    parts: Annotated[Sequence[Label], Meta(max_length=4096)] = ()
    frame: Annotated[str, Meta(max_length=64)] = ""
    of: Annotated[str, Meta(max_length=64)] = ""
    role: Literal["value", "deviation", "mask"] = "value"
    curves: Curves | None = None
    image: Image | None = None
    meaning: Annotated[str, Meta(max_length=256)] = ""
    as_is: Annotated[Sequence[Label], Meta(max_length=4096)] = ()
    joints: Annotated[Sequence[Joints], Meta(max_length=4096)] = ()
    units: Annotated[Sequence[Unit], Meta(max_length=4096)] = ()

    def __post_init__(self) -> None:
        for name in ("shape", "labels", "parts", "as_is", "units"):
            force_setattr(self, name, tuple(getattr(self, name)))
        force_setattr(self, "joints", tuple(map(tuple, self.joints)))


SessionId = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]


class Message(Struct, frozen=True, kw_only=True):
    """Keys that every message has: schema version, type, and session id (16 hex digits)."""

    v: int = SCHEMA_VERSION
    type: str
    session: Annotated[str, Meta(max_length=16)]


class Session(Message, frozen=True, kw_only=True):
    """The descriptor of a stream: everything that does not change from frame to frame.

    t_start is the sender's monotonic clock [ns]; rate is nominal [Hz], 0 when irregular.
    """

    type: Literal["session"] = "session"
    session: SessionId
    stream: StreamName
    t_start: Count
    rate: Annotated[float, Meta(ge=0.0)]
    fields: Annotated[Sequence[FieldSpec], Meta(max_length=128)]
    meta: PlainMap = {}

    def __post_init__(self) -> None:
        force_setattr(self, "fields", tuple(self.fields))


class _Frame(Message, frozen=True, kw_only=True):
    """Keys that the messages of all frames have: sequence number from 0, t_capture (time of measurement on
    the source's clock [ns]), time in the trial [s], and the data, field name -> bytes.
    """

    seq: Count
    t_capture: Count
    time: float
    data: dict[str, bytes]


class Markers(_Frame, frozen=True, kw_only=True):
    """One frame of marker positions; NaN = occluded."""

    type: Literal["markers"] = "markers"


class Forces(_Frame, frozen=True, kw_only=True):
    """All samples of the force plates since the previous message, with the same keys as a marker frame."""

    type: Literal["forces"] = "forces"


class Result(_Frame, frozen=True, kw_only=True):
    """The results of one frame; t_received, t_solved and t_published are times on the estimator's clock
    [ns].
    """

    type: Literal["result"] = "result"
    t_received: Count
    t_solved: Count
    t_published: Count
    status: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    iterations: Count
    residual: float


class Telemetry(Message, frozen=True, kw_only=True):
    """State of the estimator, sent once per second; also the reply to a command."""

    type: Literal["telemetry"] = "telemetry"
    t: Count
    counters: dict[str, int] = {}
    gauges: dict[str, float] = {}
    text: list[str] = []


class Command(Message, frozen=True, kw_only=True):
    """A request to the estimator; `session` may be empty.

    ticket : ticket that the other side issued for this command, valid once
    """

    type: Literal["command"] = "command"
    session: Annotated[str, Meta(max_length=16)] = ""
    name: Annotated[str, Meta(max_length=64)]
    args: PlainMap = {}
    ticket: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET


class End(Message, frozen=True, kw_only=True):
    """Message that a session has ended, after `seq` frames, with the reason."""

    type: Literal["end"] = "end"
    seq: Count
    reason: str


Channels = Annotated[list[float], Meta(min_length=1, max_length=16)]
"""One number for each joint of a device; finite."""
DeviceState = Literal["disarmed", "armed", "falling", "stopped"]


class Output(Message, frozen=True, kw_only=True):
    """A command to a device: model -> device, with its own time to live.

    t_sent : time of sending on the model's clock [ns]
    valid_for_ms : how long after t_sent the torque may act, by the device's estimate of its age [ms]
    torque, torque_max : torque of each joint, and its limit [N m]
    armed : False = no torque, whatever `torque` says
    time, tick_ms : time of the model [s], length of one of its ticks [ms]
    answer : whether the model waits, up to a deadline, for the device's reply before its next tick (lockstep)
    angle, speed : angles and speeds of the model's joints [rad, rad/s], which a simulated device or a test
        bench follows
    """

    type: Literal["output"] = "output"
    session: SessionId
    seq: Count
    t_sent: Count
    valid_for_ms: Annotated[float, Meta(gt=0.0, le=1000.0)]
    armed: bool
    answer: bool = False
    time: float
    tick_ms: Annotated[float, Meta(gt=0.0, le=1000.0)]
    torque: Channels
    torque_max: Channels
    angle: Channels
    speed: Channels


class Device(Message, frozen=True, kw_only=True):
    """A measurement of a device: device -> model.

    t : device's clock [ns]
    command : seq of the newest output that the device has accepted, -1 = none yet
    angle, speed, torque : values of its joints [rad, rad/s, N m]; torque is the whole torque that it applies
    actuator : part of the torque that follows commands [N m]; may be left out
    torque_max : largest torque of the actuator [N m]; may be left out
    state : disarmed, armed, falling (its safe state acts) or stopped
    fault : reason, in words
    """

    type: Literal["device"] = "device"
    seq: Count
    t: Count
    command: Annotated[int, Meta(ge=-1, le=2**63 - 1)] = -1
    angle: Channels
    speed: Channels
    torque: Channels
    actuator: Annotated[list[float], Meta(max_length=16)] = []
    torque_max: Annotated[list[float], Meta(max_length=16)] = []
    state: DeviceState
    fault: Annotated[str, Meta(max_length=128)] = ""


class Journal(Message, frozen=True, kw_only=True):
    """An entry of a run's journal, which records in order everything that the loop of the run received.

    session : id of the journal
    seq : number of the entry, from 0 without gaps
    t : the estimator's clock [ns]
    entry : kind of the entry
    values, data : its contents, by name
    """

    type: Literal["journal"] = "journal"
    session: SessionId
    seq: Count
    t: Count
    entry: Annotated[str, Meta(max_length=32)]
    values: PlainMap = {}
    data: dict[str, bytes] = {}


AnyMessage = Session | Markers | Forces | Result | Telemetry | Command | Output | Device | End | Journal
AnyFrame = Markers | Forces | Result


def new_session_id() -> str:
    """Return a fresh random session id: 16 hex digits."""
    return secrets.token_hex(8)


def speed_of(session: Session) -> float:
    """Return the factor by which a recording is played faster than it was recorded, as `meta` states it under
    `speed`; 1 if it states none, or no positive number.
    """
    speed = session.meta.get("speed", 1.0)
    known = isinstance(speed, (int, float)) and 0.0 < speed < math.inf
    return float(speed) if known else 1.0


def time_rate(session: Session) -> float:
    """Return the frames per second of the time in the trial [Hz], 0 when irregular: the rate of a session,
    which is that of its transmission, divided by the speed of playing.
    """
    return session.rate / speed_of(session)


def marker_session(
    names: Sequence[str],
    *,
    rate: float,
    t_start: int,
    unit: Literal["m", "cm", "mm"] = "m",
    up: Literal["Y", "Z"] = "Y",
    meta: dict[str, Any] | None = None,
) -> Session:
    """Build the descriptor of a stream of markers with these names, under a new session id.

    rate : frames per second [Hz], 0 when irregular
    t_start : the sender's clock at the start of the session [ns]
    unit, up : unit of length, and axis that points up
    meta : further entries of the descriptor
    """
    return Session(
        session=new_session_id(),
        stream="markers",
        t_start=t_start,
        rate=rate,
        fields=(FieldSpec(name="positions", shape=(len(names), 3), unit=unit, labels=tuple(names)),),
        meta={**(meta or {}), "up": up},
    )


def force_session(
    names: Sequence[str],
    n_sample: int,
    *,
    rate: float,
    sample_rate: float,
    t_start: int,
    corners: Sequence[Sequence[Sequence[float]]] = (),
    up: Literal["Y", "Z"] = "Y",
    meta: dict[str, Any] | None = None,
) -> Session:
    """Build the descriptor of a stream of forces from plates with these names, under a new session id.

    n_sample : largest number of samples in a message
    rate : messages per second [Hz]
    sample_rate : samples of a plate per second [Hz]
    t_start : the sender's clock at the start of the session [ns]
    corners : for each plate the four corners of its surface [m], empty if they are not known
    up : axis that points up
    meta : further entries of the descriptor
    """
    n_plate = len(names)
    fields = (
        FieldSpec(name="sample_times", shape=(n_sample,), unit="s"),
        FieldSpec(name="force", shape=(n_plate, n_sample, 3), unit="N", labels=tuple(names)),
        FieldSpec(name="moment", shape=(n_plate, n_sample, 3), unit="N m", labels=tuple(names)),
    )
    places = [[[float(x) for x in corner] for corner in plate] for plate in corners]
    return Session(
        session=new_session_id(),
        stream="forces",
        t_start=t_start,
        rate=rate,
        fields=fields,
        meta={**(meta or {}), "up": up, "sample_rate": float(sample_rate), "corners": places},
    )
