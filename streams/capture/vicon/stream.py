"""State of a Vicon stream: its subjects, plates and clock, and decoding of blocks to frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import ByteReader, malformed
from streams.capture.records import MOST_MARKERS, MOST_PLATES, Upwards
from streams.capture.vicon.blocks import (
    APPLICATION_INFO,
    CHANNEL_INFO,
    CONTENTS,
    DEVICE_INFO,
    DEVICE_INFO_EXTRA,
    FORCE_FRAME,
    FORCE_PLATE_INFO,
    FRAME_INFO,
    HARDWARE_FRAME_INFO,
    LABELLED,
    LABELLED_RECONS,
    LATENCY_INFO,
    MOMENT_FRAME,
    OBJECT_ENUMS,
    PING,
    PRESSURE_FRAME,
    STREAM_INFO,
    SUBJECT_INFO,
    TICKS_PER_S,
    UNLABELLED,
    UNLABELLED_RECONS,
    DeviceSamples,
    PlatePose,
    ViconSubject,
    objects,
    read_channel,
    read_device,
    read_device_start,
    read_latency_s,
    read_numbers,
    read_period,
    read_plate,
    read_recons,
    read_samples,
    read_subject,
    read_unchanged,
)

UP: dict[int, Upwards] = {0: "+Z", 1: "+Y"}
_SAMPLES = {FORCE_FRAME: "force", MOMENT_FRAME: "moment", PRESSURE_FRAME: "pressure"}


class ViconStatics(NamedTuple):
    """Descriptions that a server sends only when they change; two equal objects describe the same subjects,
    plates and devices.

    period : period of the cameras' frames, 0 = unknown [ticks]
    up : axis that points up, "" = unknown
    subjects : subjects in the order sent
    plates : plates with a pose
    devices : number, period of its own frames (0 = unknown) [ticks], and name of each device
    starts : number of a device, and when its frame 0 began after that of the cameras [ticks]; a device that
        is not in it began with them
    channels : channels of forces, by device
    """

    period: int = 0
    up: Upwards = ""
    subjects: tuple[ViconSubject, ...] = ()
    plates: tuple[PlatePose, ...] = ()
    devices: tuple[tuple[int, int, str], ...] = ()
    starts: tuple[tuple[int, int], ...] = ()
    channels: tuple[tuple[int, int, tuple[str, ...]], ...] = ()

    @property
    def period_ns(self) -> int:
        """Period of the cameras' frames, 0 = unknown [ns]."""
        return self.period * 1_000_000_000 // TICKS_PER_S


class ViconFrame(NamedTuple):
    """One frame of Vicon's DataStream; arrays are views of the block.

    number : number of the frame; -1 = not stated
    labelled, unlabelled : (n,) markers, of the dtypes LABELLED and UNLABELLED; None = the frame has none
    latency_s : age of the frame when it was sent [s], 0 = not stated
    samples : samples of devices by kind: "force", "moment", "pressure"
    """

    number: int
    labelled: NDArray[Any] | None
    unlabelled: NDArray[Any] | None
    latency_s: float
    samples: dict[str, list[DeviceSamples]]


class ViconStream:
    """Turns blocks of Vicon's DataStream into frames.

    statics : the known descriptions
    n_change : number of times that they changed
    offered : kinds of data that the server offers; None = not yet announced
    """

    def __init__(self) -> None:
        self.statics = ViconStatics()
        self.n_change = 0
        self.offered: frozenset[int] | None = None
        self.newly_offered = False
        self.pings: list[int] = []

    def take(self, block: bytes) -> ViconFrame | None:
        """Decode a block; return its frame, or None for a block without one.

        Raises DecodeError for an inconsistent block, which is then ignored completely.
        """
        self.newly_offered = False
        found: dict[int, list[Any]] = {}
        contents: ByteReader | None = None
        offered = None
        pings: list[int] = []
        number, latency_s = -1, 0.0
        labelled = unlabelled = None
        samples: dict[str, list[DeviceSamples]] = {}
        for kind, start, end in objects(block):
            if kind == LABELLED_RECONS:
                labelled = read_recons(block, start, end, LABELLED)
            elif kind == UNLABELLED_RECONS:
                unlabelled = read_recons(block, start, end, UNLABELLED)
            elif kind == HARDWARE_FRAME_INFO:
                continue
            else:
                reader = ByteReader(block, start, end)
                if kind == CONTENTS:
                    contents = reader
                elif kind == FRAME_INFO:
                    number = reader.u32()
                elif kind == LATENCY_INFO:
                    latency_s = read_latency_s(reader)
                elif kind in _SAMPLES:
                    samples.setdefault(_SAMPLES[kind], []).append(read_samples(reader))
                elif kind in _STATIC_READERS:
                    found.setdefault(kind, []).append(_STATIC_READERS[kind](reader))
                elif kind == PING:
                    pings.append(reader.u64())
                elif kind == OBJECT_ENUMS:
                    offered = read_numbers(reader)
        if found:
            self._change(found, read_unchanged(contents) if contents is not None else frozenset())
        if offered is not None:
            self.offered, self.newly_offered = offered, True
        self.pings = pings[:4]
        if number < 0 and labelled is None:
            return None
        return ViconFrame(number, labelled, unlabelled, latency_s, samples)

    def _change(self, found: dict[int, list[Any]], unchanged: frozenset[int]) -> None:
        """Replace descriptions that were sent again; remove those that were neither sent again nor stated to
        be unchanged.

        found : kind of object -> descriptions of this kind that a block contains
        unchanged : kinds that the server states to be unchanged
        """
        old = self.statics

        def kept(kind: int, before: Any, after: Any) -> Any:
            return after if kind in found else before if kind in unchanged else type(before)()

        subjects = kept(SUBJECT_INFO, old.subjects, tuple(found.get(SUBJECT_INFO, ())))
        if sum(len(subject.markers) for subject in subjects) > MOST_MARKERS:
            raise malformed(f"more than {MOST_MARKERS} markers are described")
        # Both are told once, and stay true while the connection lasts.
        period = found.get(STREAM_INFO, [old.period])[-1]
        up = found.get(APPLICATION_INFO, [old.up])[-1]
        new = ViconStatics(
            period=period,
            up=up,
            subjects=subjects,
            plates=kept(FORCE_PLATE_INFO, old.plates, tuple(found.get(FORCE_PLATE_INFO, ()))[:MOST_PLATES]),
            devices=kept(DEVICE_INFO, old.devices, tuple(found.get(DEVICE_INFO, ()))),
            starts=kept(DEVICE_INFO_EXTRA, old.starts, tuple(found.get(DEVICE_INFO_EXTRA, ()))),
            channels=kept(CHANNEL_INFO, old.channels, tuple(found.get(CHANNEL_INFO, ()))),
        )
        self.statics = new
        self.n_change += 1


_STATIC_READERS = {
    STREAM_INFO: read_period,
    SUBJECT_INFO: read_subject,
    DEVICE_INFO: read_device,
    DEVICE_INFO_EXTRA: read_device_start,
    CHANNEL_INFO: read_channel,
    FORCE_PLATE_INFO: read_plate,
    APPLICATION_INFO: lambda reader: UP.get(reader.u8(), ""),
}


class ViconRows:
    """Assignment of the markers of Vicon subjects to published rows.

    names : published names, such as "Anna:LASI"; a marker that a frame does not have is occluded
    """

    def __init__(self, subjects: tuple[ViconSubject, ...]) -> None:
        names: list[str] = []
        keys: list[int] = []
        for subject in subjects:
            for number, marker in subject.markers.items():
                names.append(f"{subject.name}:{marker}" if subject.name else marker)
                keys.append(subject.number << 32 | number)
        self.names = tuple(names)
        order = np.argsort(np.array(keys, np.uint64), kind="stable")
        self._order = order
        self._keys = np.array(keys, np.uint64)[order]
        self._last = (b"", np.zeros(0, np.intp), np.zeros(0, np.bool_), 0)

    def same_numbers(self, other: ViconRows) -> bool:
        """Return whether the markers have the same numbers, by which Vicon's frames identify subject and
        marker, in the same order as in `other`."""
        return np.array_equal(self._keys, other._keys) and np.array_equal(self._order, other._order)

    def positions(self, labelled: NDArray[Any] | None) -> tuple[NDArray[np.float64], int]:
        """Return positions (n_marker, 3) [mm], NaN = not in the frame, and the number of the frame's markers
        without a subject.
        """
        found = np.empty((len(self.names), 3))
        found.fill(np.nan)
        if labelled is None or not len(labelled) or not self.names:
            return found, 0 if labelled is None else len(labelled)
        raw = labelled["subject"].tobytes() + labelled["marker"].tobytes()
        if raw != self._last[0]:  # which is where, looked up only where the list has changed
            wanted = labelled["subject"].astype(np.uint64) << np.uint64(32) | labelled["marker"]
            at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            there = self._keys[at] == wanted
            self._last = (raw, self._order[at[there]], there, int(np.count_nonzero(~there)))
        _, rows, there, n_unknown = self._last
        found[rows] = labelled["position"] if n_unknown == 0 else labelled["position"][there]
        return found, n_unknown
