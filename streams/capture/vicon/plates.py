"""Force plates of Vicon's DataStream: forces and moments in the laboratory's axes, and their times.

Devices number frames of their own, and tell the period of these. A packet has the device frames that overlap
the cameras' frame, in part or as a whole, so that the same device frame may come in two packets. What one
plate has before the others have it waits for the next packet, where it may come again or not. As the
vendor's SDK has it, sample i of n in the device frame f was taken at f times the device's period plus i / n
of it, counted from the beginning of the cameras' frame 0.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.capture.byte_reader import as_doubles
from streams.capture.plate_geometry import FloatArray, PlatePlace, to_laboratory
from streams.capture.records import ForceSamples, PlateDescription
from streams.capture.vicon.blocks import TICKS_PER_S, DeviceSamples, PlatePose
from streams.capture.vicon.plate_rate import PlateRate
from streams.capture.vicon.stream import ViconFrame, ViconStatics

LOADED = 20.0
"""Samples with less force than this say nothing of the unit of moments [N]."""
LONGEST_LEVER = 3.0
"""No plate is so large that a moment about its own origin has a longer lever; then it is in N mm [m]."""
MOST_SAMPLES = 4096
CORNERS = ((1, 1), (0, 1), (0, 0), (1, 0))
"""Indices of the bounds in x and y of each corner, in C3D's order: +x +y, -x +y, -x -y, +x -y."""
NS_PER_TICK = 1e9 / TICKS_PER_S
NOTHING: FloatArray = np.zeros(0)


class _Plate(NamedTuple):
    """A plate: number of its device, its name and pose, and the period and beginning of the device's frames
    [ticks], see ViconStatics.
    """

    device: int
    name: str
    pose: PlatePose
    place: PlatePlace
    period: int
    start: int


class _Signals(NamedTuple):
    """Samples of a plate in a packet, joined: numbers of the device's frames, samples in each of them, and
    forces and moments (n, 3) as sent.
    """

    frames: list[int]
    sizes: list[int]
    force: FloatArray
    moment: FloatArray


class _Kept(NamedTuple):
    """Samples of a plate that wait for those of the others: times on the clock made from frame numbers (n,)
    [ns], and forces and moments (n, 3) as sent.
    """

    times: FloatArray
    force: FloatArray
    moment: FloatArray


class _Window(NamedTuple):
    """What is handed on of a packet: the index of the plate at whose times, half the time between two of its
    samples, 0 = not known [ns], and the time after the frame's from which on samples wait [ns].
    """

    fastest: int
    near_ns: float
    end_ns: float


class ViconPlates:
    """The force plates whose pose is known.

    Parameters
    ----------
    statics : descriptions that the server has sent
    before : the plates until now, of the same connection

    Attributes
    ----------
    in_millimetres : whether moments are in N mm. The SDK's source says N/mm and its manual N m, so the unit
        is inferred from the data: moment divided by force, the lever arm on the plate, is below a metre
    newly_rated : whether the last frame has shown the sampling rate of a plate, or another one
    counters : name -> number: plate_samples_again (copies of samples in a later packet),
        plate_samples_missing (samples that a plate does not have where the one with the highest rate has
        some), plate_samples_left_out (samples without moments, or at times at which the latter has none, or
        that waited for those of another plate when the times became unknown),
        frames_with_spread_forces (frames over which samples are spread, as their times are unknown)
    """

    def __init__(self, statics: ViconStatics, before: ViconPlates | None = None) -> None:
        self.newly_rated = False
        self.in_millimetres: bool = before is not None and before.in_millimetres
        self.counters: Counter[str] = before.counters if before is not None else Counter()
        self._told: set[str] = before._told if before is not None else set()
        self._newest_ns: int | None = before._newest_ns if before is not None else None
        self._sentences: list[str] = before._sentences if before is not None else []
        self._kept: dict[int, _Kept] = before._kept if before is not None else {}  # device -> samples
        self._statics = statics
        devices = {number: (period, name) for number, period, name in statics.devices}
        starts = dict(statics.starts)
        self._plates: list[_Plate] = []
        for pose in statics.plates:
            period, name = devices.get(pose.device, (0, ""))
            plate = _Plate(
                device=pose.device,
                name=name or f"plate {pose.device}",
                pose=pose,
                place=PlatePlace(pose.rotation, 1e-3 * pose.translation),
                period=period,
                start=starts.get(pose.device, 0),
            )
            self._plates.append(plate)
        rates = before._rates if before is not None else {}
        keys = [self._rate_key(plate) for plate in self._plates]
        self._rates: dict[tuple[int, int], PlateRate] = {key: rates[key] for key in keys if key in rates}

    def descriptions(self) -> tuple[PlateDescription, ...]:
        """Return the descriptions of the plates, in the order in which `samples` returns their forces. Their
        rates are known from the first samples on, and corrected once, see PlateRate.
        """
        return tuple(
            PlateDescription(plate.name, _corners(plate.pose, plate.place), self._rate(plate))
            for plate in self._plates
        )

    def sentences(self) -> list[str]:
        """Return messages for the user since the last call."""
        told, self._sentences = self._sentences, []
        return told

    def samples(self, frame: ViconFrame, stamp_ns: int | None) -> ForceSamples | None:
        """Return the force samples that came with a frame and were not handed on before, at their own times;
        None without samples.

        stamp_ns : time of the frame on the clock made from frame numbers [ns]; None = not known, and then the
            samples are spread over the frame's period from 0 on

        Samples are also spread, from the frame's stamp on, where the server does not tell the period of a
        device, or where the numbers of device frames do not fit that of the cameras' frame.
        """
        self.newly_rated = False
        if not self._plates or "force" not in frame.samples:
            return None
        signals = [self._signals(plate, frame) for plate in self._plates]
        n = max((len(one.force) for one in signals if one is not None), default=0)
        if not 0 < n <= MOST_SAMPLES:
            return None
        for plate, one in zip(self._plates, signals, strict=True):
            if one is not None:
                self._judge(one)
                self._see_rate(plate, one, frame.number)
        if stamp_ns is None:
            self._forget_kept()
            return self._joined_spread(signals, 0)
        times = self._times(signals, frame.number)
        if times is None:
            self._forget_kept()
            self.counters["frames_with_spread_forces"] += 1
            self._tell(
                "spread",
                "The server does not tell the period of its force plates, or numbers their frames otherwise "
                "than those of the cameras: their samples are spread evenly over each frame.",
            )
            return self._joined_spread(signals, stamp_ns)
        window = self._window(times)  # of the packet's own samples: a silent plate holds no other one up
        self._add_kept(signals, times, stamp_ns)
        forces = self._joined(signals, times, stamp_ns, window, self._newest_ns)
        self._keep(signals, times, stamp_ns, window)
        if forces is not None:
            self._newest_ns = int(forces.stamps[-1])
        return forces

    def _times(self, signals: list[_Signals | None], number: int) -> list[FloatArray] | None:
        """Return when the samples of each plate were taken, after the cameras' frame of this number [ns];
        None where that is not known of all plates.
        """
        found = []
        for plate, one in zip(self._plates, signals, strict=True):
            times = NOTHING if one is None else self._times_of(plate, one, number)
            if times is None:
                return None
            found.append(times)
        return found

    def _times_of(self, plate: _Plate, one: _Signals, number: int) -> FloatArray | None:
        period, camera = plate.period, self._statics.period
        if number < 0 or not period or not camera or not self._rate(plate):  # 0: no device is so slow
            return None
        parts = []
        for device_frame, size in zip(one.frames, one.sizes, strict=True):
            begin = device_frame * period + plate.start - number * camera
            if abs(begin) > period + camera:  # not even beside the cameras' frame: numbered otherwise
                return None
            parts.append(NS_PER_TICK * (begin + period * np.arange(size) / size))
        times = np.concatenate(parts)
        return times if (np.diff(times) > 0.0).all() else None

    def _window(self, times: list[FloatArray]) -> _Window:
        """Return what can be handed on: at the times of the plate with the highest rate, until when all
        plates that have samples have those nearest to them. Where devices have frames of several lengths, or
        begin at several times, what some have beyond it waits for the next packet, with that of the others.
        """
        rates = [self._rate(plate) if len(t) else -1.0 for plate, t in zip(self._plates, times, strict=True)]
        fastest = rates.index(max(rates))
        near_ns = 0.5e9 / rates[fastest] if rates[fastest] else 0.0
        ends = [float(t[-1]) + 0.95e9 / rate for rate, t in zip(rates, times, strict=True) if rate > 0.0]
        return _Window(fastest, near_ns, min(ends, default=math.inf) - near_ns)

    def _add_kept(self, signals: list[_Signals | None], times: list[FloatArray], stamp_ns: int) -> None:
        """Put the samples that wait before those of a packet, unless the packet has them once more."""
        for k, plate in enumerate(self._plates):
            if (kept := self._kept.pop(plate.device, None)) is None:
                continue
            before = kept.times - stamp_ns
            one = signals[k] or _Signals([], [], np.zeros((0, 3)), np.zeros((0, 3)))
            first = float(times[k][0]) - 0.5e9 / self._rate(plate) if len(times[k]) else math.inf
            old = before < first
            times[k] = np.concatenate([before[old], times[k]])
            force, moment = np.vstack([kept.force[old], one.force]), np.vstack([kept.moment[old], one.moment])
            signals[k] = one._replace(force=force, moment=moment)

    def _keep(
        self, signals: list[_Signals | None], times: list[FloatArray], stamp_ns: int, window: _Window
    ) -> None:
        """Store the samples from the end of the window on for the next packet; of plates whose samples are
        assigned to those of the fastest, also what may belong to the first one of these."""
        fastest, near_ns, end_ns = window
        for k, (plate, one) in enumerate(zip(self._plates, signals, strict=True)):
            late = times[k] >= (end_ns if k == fastest else end_ns - near_ns)
            n_late = int(np.sum(late))
            if one is not None and n_late:
                self.counters["plate_samples_left_out"] += max(0, n_late - MOST_SAMPLES)
                parts = (stamp_ns + times[k], one.force, one.moment)
                self._kept[plate.device] = _Kept(*(part[late][-MOST_SAMPLES:] for part in parts))

    def _forget_kept(self) -> None:
        """Leave out the samples that wait, as the times of the next ones are not known."""
        after_ns = -math.inf if self._newest_ns is None else self._newest_ns
        n_waiting = sum(int(np.sum(kept.times > after_ns)) for kept in self._kept.values())
        self.counters["plate_samples_left_out"] += n_waiting
        self._kept.clear()

    def _joined_spread(self, signals: list[_Signals | None], stamp_ns: int) -> ForceSamples | None:
        """Return the samples of all plates, spread evenly over the cameras' frame from `stamp_ns` on [ns]."""
        sizes = [0 if one is None else len(one.force) for one in signals]
        times = [self._statics.period_ns * np.arange(size) / max(size, 1) for size in sizes]
        return self._joined(signals, times, stamp_ns, self._window(times)._replace(end_ns=math.inf), None)

    def _joined(
        self,
        signals: list[_Signals | None],
        times: list[FloatArray],
        stamp_ns: int,
        window: _Window,
        newest_ns: int | None,
    ) -> ForceSamples | None:
        """Return the samples of all plates at the times of the plate with the highest rate; None if none is
        left.

        times : times of the samples of each plate, after `stamp_ns` [ns]
        newest_ns : stamp of the newest sample that was handed on before, which are left out [ns]
        """
        fastest, near_ns, end_ns = window
        after_ns = -math.inf if newest_ns is None else newest_ns - stamp_ns + near_ns
        wanted = times[fastest]
        new = (wanted > after_ns) & (wanted < end_ns)
        force = np.full((len(signals), len(wanted), 3), np.nan)
        moment = np.full_like(force, np.nan)
        for k, (plate, one) in enumerate(zip(self._plates, signals, strict=True)):
            at, there = _matching(times[k], wanted, near_ns)
            if one is not None:
                scale = 1e-3 if self.in_millimetres else 1.0
                force[k, there], moment[k, there] = to_laboratory(
                    plate.place, one.force[at], scale * one.moment[at]
                )
            unused = (times[k] > after_ns) & (times[k] < end_ns - near_ns)
            unused[at[new[there]]] = False
            self._count(plate, self._plates[fastest], int(np.sum(new & ~there)), int(np.sum(unused)))
        self.counters["plate_samples_again"] += int(np.sum(wanted <= after_ns))
        if not new.any():
            return None
        stamps = stamp_ns + np.rint(wanted[new]).astype(np.int64)
        return ForceSamples(stamps, force[:, new], moment[:, new])

    def _count(self, plate: _Plate, fastest: _Plate, n_missing: int, n_left_out: int) -> None:
        self.counters["plate_samples_missing"] += n_missing
        self.counters["plate_samples_left_out"] += n_left_out
        if n_missing or n_left_out:
            self._tell(
                "missing",
                f"The force plate {plate.name} sends no samples at some times at which {fastest.name}, the "
                "plate with the highest rate, sends some: there it counts as not measured.",
            )

    def _signals(self, plate: _Plate, frame: ViconFrame) -> _Signals | None:
        """Return the samples of a plate in a frame, in the order of the numbers of its device's frames; None
        where there are none with moments.
        """
        forces = _parts(frame.samples["force"], plate.device)
        moments = _parts(frame.samples.get("moment", []), plate.device)
        frames, sizes = [p.frame for p in forces], [p.samples.shape[1] for p in forces]
        if [p.frame for p in moments] != frames or [p.samples.shape[1] for p in moments] != sizes:
            self.counters["plate_samples_left_out"] += sum(sizes)
            self._tell(
                "moments",
                f"The force plate {plate.name} sends forces without the moments of the same samples: these "
                "forces are not used.",
            )
            return None
        if not forces:
            return None
        force, moment = (np.concatenate([p.samples for p in parts], axis=1).T for parts in (forces, moments))
        return _Signals(frames, sizes, as_doubles(force), as_doubles(moment))

    def _rate(self, plate: _Plate) -> float:
        """Return the samples of a plate per second, 0 = not known yet."""
        rate = self._rates.get(self._rate_key(plate))
        return rate.hz if rate is not None else 0.0

    def _rate_key(self, plate: _Plate) -> tuple[int, int]:
        return plate.device, plate.period or -self._statics.period

    def _see_rate(self, plate: _Plate, one: _Signals, number: int) -> None:
        """Determine the sampling rate of a plate from the number of samples in frames of its device, or, as
        long as the server does not tell the period of these, in frames of the cameras."""
        if not (period := plate.period or self._statics.period):
            return
        rate = self._rates.setdefault(self._rate_key(plate), PlateRate(period))
        sizes = zip(one.frames, one.sizes, strict=True) if plate.period else [(number, len(one.force))]
        for frame, size in sizes:
            self.newly_rated |= rate.see(frame, size)

    def _judge(self, one: _Signals) -> None:
        if self.in_millimetres:
            return
        size = np.linalg.norm(one.force, axis=1)
        loaded = size > LOADED
        if loaded.any():
            levers = np.linalg.norm(one.moment[loaded], axis=1) / size[loaded]
            self.in_millimetres = bool(np.median(levers) > LONGEST_LEVER)

    def _tell(self, kind: str, sentence: str) -> None:
        """Report a sentence of each kind once."""
        if kind not in self._told:
            self._told.add(kind)
            self._sentences.append(sentence)


def _parts(parts: list[DeviceSamples], device: int) -> list[DeviceSamples]:
    """Return the samples of a device's first channel, in the order of its frames."""
    mine = sorted((p for p in parts if p.device == device and p.samples.size), key=lambda p: p.frame)
    return [p for p in mine if p.channel == mine[0].channel]


def _matching(
    times: FloatArray, wanted: FloatArray, near_ns: float
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the indices of `times` that lie within `near_ns` of wanted times, in their order, and (n,)
    whether there is one for each wanted time."""
    if not len(times):
        return np.zeros(0, np.intp), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(times, wanted - near_ns), len(times) - 1)
    there = np.abs(times[at] - wanted) <= near_ns
    return at[there], there


def _corners(pose: PlatePose, place: PlatePlace) -> tuple[tuple[float, float, float], ...]:
    """Return the four corners [m] of the surface, the plane z = 0 of the plate's axes; () for bounds without
    an area."""
    bounds = 1e-3 * pose.bounds
    if not (bounds[1, :2] > bounds[0, :2]).all():
        return ()
    points = [np.array((bounds[i, 0], bounds[j, 1], 0.0)) for i, j in CORNERS]
    return tuple(tuple(float(x) for x in place.rotation @ p + place.origin) for p in points)  # type: ignore[misc]
