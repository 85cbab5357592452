"""Connection to a Lab Streaming Layer stream of markers and, if requested, a stream of forces beside it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from streams.capture.lsl.channels import marker_channels, positions_of
from streams.capture.lsl.forces import LslForces
from streams.capture.lsl.inlet import LslInlet, LslSample
from streams.capture.lsl.library import lsl
from streams.capture.lsl.rate import measured_rate, rate_of_measured
from streams.capture.records import (
    CaptureDescription,
    CaptureError,
    CaptureFrame,
    ClockPair,
    Upwards,
)
from streams.capture.system import CaptureAddress
from streams.clock import now_ns

FIND_S = 2.0
"""Time for which a stream is searched for [s]."""
ANY = "any"
"""Name that stands for any stream of markers."""
TYPE = "mocap"
"""Type of streams of markers, in whatever case."""
RATE_S = 1.0
"""Time over which the rate is measured of a stream that does not state it [s]."""
LOOK_S = 0.5
MOST_TOLD = 8
"""Names of other streams in a sentence."""
UP: Mapping[str, Upwards] = {"X": "+X", "Y": "+Y", "Z": "+Z"}


class LslConnection:
    """An open connection to one stream, with the methods that connections to all capture systems have."""

    def __init__(self, address: CaptureAddress) -> None:
        self._counters: Counter[str] = Counter()
        self._sentences: list[str] = []
        self._ready: deque[CaptureFrame | CaptureDescription | ClockPair] = deque()
        self._forces: LslForces | None = None
        self._inlet = LslInlet(_found(address, self._sentences))
        try:
            self._markers = marker_channels(self._inlet.channels, len(self._inlet.channels))
            if not self._markers.names:
                raise CaptureError(
                    "refused",
                    f"the stream {self._inlet.words} has no channels of markers, of type PositionX, "
                    "PositionY, PositionZ and no labels like LASI_X",
                )
            name = address.options.get("forces", "")
            if name:
                inlet = LslInlet(_searched(f"name='{name}'", name))
                self._forces = LslForces(inlet, self._inlet.clock)
            self._rate = self._inlet.rate or self._estimated_rate()
        except BaseException:
            self.close()
            raise
        self._sentences.append(f"Stream {self._inlet.words}, {len(self._markers.names)} markers.")
        if n_left := self._markers.n_left:
            self._sentences.append(
                f"{n_left} channels of positions are left out: their marker does not have all of x, y "
                "and z, or its name equals an earlier one except for blanks at its ends."
            )
        if not self._inlet.source_id:
            self._sentences.append(
                "The stream has no source_id: when its sender restarts, any stream of the same name is used."
            )

    def description(self) -> CaptureDescription:
        """Return the description that the stream gives; it does not change while the connection lasts."""
        plates = self._forces.plates if self._forces is not None else ()
        markers = self._markers
        up = UP.get(self._inlet.up, "")
        return CaptureDescription(
            names=markers.names,
            unit=markers.unit,
            up=up,
            rate=self._rate,
            rate_measured=not self._inlet.rate,
            plates=plates,
            labelled=markers.labelled,
        )

    def read(self, timeout_s: float) -> CaptureFrame | CaptureDescription | ClockPair | None:
        """Return the next frame, description or pair of clock readings; None after the timeout. Raises
        CaptureError where the stream has ended."""
        if not self._ready:
            if (pair := self._inlet.clock.pair) is not None:
                return pair
            self._take(self._inlet.pull(timeout_s))
        return self._ready.popleft() if self._ready else None

    def counters(self) -> Mapping[str, int]:
        """Number of samples with impossible time stamps, and of force samples that are left out, as counters
        for the telemetry.
        """
        of_forces = self._forces.counters() if self._forces is not None else {}
        return {"refused_packets": 0, **self._counters, **of_forces}

    def gauges(self) -> Mapping[str, float]:
        """Return no gauges; the relay reports those of the clock."""
        return {}

    def sentences(self) -> list[str]:
        """Return messages for the user since the last call."""
        told, self._sentences = self._sentences, []
        of_forces = self._forces.sentences() if self._forces is not None else []
        return told + self._inlet.notices() + of_forces

    def close(self) -> None:
        """Close the streams."""
        self._inlet.close()
        if self._forces is not None:
            self._forces.close()

    def _take(self, samples: list[LslSample]) -> None:
        for sample in samples:
            if sample.stamp_ns is None:
                self._counters["samples_without_stamp"] += 1
            forces = None
            if self._forces is not None:
                self._forces.pull()
                if sample.stamp_ns is not None:  # else there is no stamp beside which they could be placed
                    forces = self._forces.ready()
            positions = positions_of(sample.values, self._markers)
            self._ready.append(CaptureFrame(positions, sample.arrived_ns, sample.stamp_ns, forces=forces))

    def _estimated_rate(self) -> float:
        """Estimate the frames per second from the first stamps, for a stream that does not state its rate; 0
        = too few stamps."""
        samples: list[LslSample] = []
        due_ns = now_ns() + int(RATE_S * 1e9)
        while (left_ns := due_ns - now_ns()) > 0:
            samples += self._inlet.pull(left_ns * 1e-9)
        self._take(samples)
        stamps = [sample.stamp_ns for sample in samples if sample.stamp_ns is not None]
        rate = measured_rate(stamps)
        if not rate:
            return 0.0
        stated = rate_of_measured(rate)
        taken = f", which is taken as {stated:g} Hz" if stated else ""
        self._sentences.append(
            f"The stream does not state its rate; its first frames come at {rate:.1f} Hz{taken}."
        )
        return stated


def _found(address: CaptureAddress, sentences: list[str]) -> Any:
    """Find the stream of an address: by its name or its source_id, or of type mocap where none is named. A
    message for the user is added to `sentences` if several streams match.
    """
    name, source = address.host, address.options.get("source_id", "")
    if name == ANY:
        streams = [s for s in lsl().resolve_streams(FIND_S) if s.type().casefold() == TYPE]
    else:
        streams = [_searched(f"name='{name}' or source_id='{name}'", name)]
        streams += lsl().resolve_bypred(f"name='{name}' or source_id='{name}'", 2, 0.1)
        streams = list({stream.uid(): stream for stream in streams}.values())
    if source:
        streams = [stream for stream in streams if stream.source_id() == source]
    if not streams:
        raise _missing(f"{name!r} with source_id {source!r}" if source else repr(name))
    # The newest one: of a sender that was started anew the former may be found for a while.
    streams.sort(key=lambda stream: stream.created_at())
    if len(streams) > 1:
        sentences.append(
            f"{len(streams)} streams are called {name!r}; the newest one is used; ?source_id= in the "
            "address selects another one."
        )
    return streams[-1]


def _searched(predicate: str, name: str) -> Any:
    """Search the network for one stream that meets a condition, and return its description.

    predicate : the condition, in XPath, as liblsl expects it
    name : name of the stream, for the error
    """
    streams = lsl().resolve_bypred(predicate, 1, FIND_S)
    if not streams:
        raise _missing(repr(name))
    return streams[0]


def _missing(wanted: str) -> CaptureError:
    """Return the error that the requested stream was not found, with a list of the streams that were
    found."""
    others = sorted({stream.name() for stream in lsl().resolve_streams(LOOK_S)})[:MOST_TOLD]
    there = f"there are {', '.join(map(repr, others))}" if others else "there are no other streams either"
    return CaptureError(
        "unreachable",
        f"no stream {wanted} is found within {FIND_S:.0f} s, {there}; does its sender run, and does the "
        "network let multicast through (or KnownPeers in lsl_api.cfg name its computer)?",
    )
