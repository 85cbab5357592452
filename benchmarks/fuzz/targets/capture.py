"""Targets for packets of capture systems: NatNet, Qualisys, Vicon, decoded and converted to frames one by
one.
"""

from __future__ import annotations

import struct

import numpy as np

from benchmarks.adapters.double import DoubledFrame, DoubledPlate, double_of
from benchmarks.adapters.natnet_writer import echo, server_info
from benchmarks.fuzz.mutation.packets import joined, parted
from benchmarks.fuzz.seeds import NAMES, walking
from benchmarks.fuzz.target import REFUSALS, FuzzTarget, require
from streams.capture.natnet.frame import decode_frame
from streams.capture.natnet.markers import NamedRows, unnamed_markers
from streams.capture.natnet.messages import (
    DEFINITIONS,
    ECHO_RESPONSE,
    FRAME,
    RESPONSE,
    SERVER_INFO,
    Definitions,
    decode_definitions,
    decode_echo,
    decode_server_info,
)
from streams.capture.natnet.plates import NatNetPlates
from streams.capture.natnet.questions import Questions
from streams.capture.qtm.forces import QtmForces
from streams.capture.qtm.packets import HEADER, MalformedPacketError, decode_data
from streams.capture.qtm.settings import QtmSettings, read_settings
from streams.capture.records import CaptureDescription, ForceSamples
from streams.capture.vicon.plates import ViconPlates
from streams.capture.vicon.stream import ViconRows, ViconStream
from streams.errors import DecodeError

CORNERS = np.array([[0.4, 0.6, 0], [0, 0.6, 0], [0, 0, 0], [0.4, 0, 0]])
LATEST_NS = 1 << 62
VERSIONS = ((3, 0), (3, 1), (4, 0), (4, 1), (4, 2))


def doubled(scheme: str) -> tuple[object, DoubledFrame]:
    """Return the double of a system's server with two plates, and a frame for it to send."""
    plates = [DoubledPlate(f"plate {k}", CORNERS + np.array([k, 0, 0]), 1000.0) for k in range(2)]
    wrenches = np.tile([1.0, 2.0, 700.0, 10.0, -20.0, 1.0, 0.2, 0.3, 0.0], (2, 10, 1))
    frame = DoubledFrame(walking().positions[4], 5_000_000_000, 17, np.ones((3, 3)), wrenches)
    return double_of(scheme)(NAMES, 100.0, plates), frame


def check_samples(samples: ForceSamples | None, n_plate: int) -> None:
    """Check samples of forces as the relay requires them."""
    if samples is not None:
        require(
            samples.force.shape == (n_plate, len(samples.stamps), 3), "the array of forces has a wrong shape"
        )
        require(samples.moment.shape == samples.force.shape, "the array of moments has a wrong shape")


def check_description(names: tuple[str, ...], plates: tuple, rate: float) -> None:
    """Check a description as the relay requires it."""
    require(np.isfinite(rate) and rate >= 0.0, f"a rate of {rate}")
    for plate in plates:
        require(np.isfinite(plate.rate) and plate.rate >= 0.0, f"a plate's rate of {plate.rate}")
        require(np.isfinite(np.array(plate.corners, dtype=float)).all(), "a plate's corner is not a position")
        require(len(plate.corners) in (0, 4), "a plate has neither four corners nor none")


def natnet_seeds() -> list[bytes]:
    """Return a conversation in each version; the byte before it states the version."""
    seeds = []
    for k, version in enumerate(VERSIONS):
        double, frame = doubled("natnet")
        double.version = version  # type: ignore[attr-defined]
        info = server_info(version, 10_000_000, 1511, True, "239.255.42.99")
        packets = [info, echo(bytes(8), 77), double.definitions(), double.message(frame)]  # type: ignore[attr-defined]
        packets.append(struct.pack("<HHf", RESPONSE, 4, 100.0))
        seeds.append(joined([bytes((k,)), *packets]))
    return seeds


def feed_natnet(data: bytes) -> None:
    """Decode every packet as the connection does; rejected packets end nothing."""
    head, *packets = parted(data) or [b""]
    version = VERSIONS[head[0] % len(VERSIONS)] if head else VERSIONS[-1]
    questions = Questions()
    questions.next()
    rows, plates = NamedRows(Definitions((), (), 0)), NatNetPlates(Definitions((), (), 0))
    for packet in packets:
        kind = int.from_bytes(packet[:2], "little")
        try:
            if kind == SERVER_INFO:
                info = decode_server_info(packet)
                version = min(info.version, VERSIONS[-1])
            elif kind == ECHO_RESPONSE:
                decode_echo(packet)
            elif kind == DEFINITIONS:
                definitions = decode_definitions(packet, version)
                rows, plates = NamedRows(definitions), NatNetPlates(definitions)
                rate = questions.rate
                check_description(rows.names, plates.descriptions(questions.plate_rate), rate)
            elif kind == RESPONSE:
                questions.answer(packet)
                questions.next()
                require(0.0 <= questions.rate < 1e6, f"a rate of {questions.rate}")
            elif kind == FRAME:
                frame = decode_frame(packet, version)
                positions = rows.positions(frame)
                require(
                    positions is None or positions.shape == (len(rows.names), 3),
                    "the array of rows has a wrong shape",
                )
                require(
                    unnamed_markers(frame).shape[1:] == (3,), "the array of unnamed markers has a wrong shape"
                )
                samples = plates.samples(frame, frame.exposed % LATEST_NS, 10_000_000)
                check_samples(samples, len(plates.descriptions(0.0)))
        except DecodeError:
            continue


def qtm_seeds() -> list[bytes]:
    """Return settings, followed by data packets of frames with markers, forces and time codes."""
    double, frame = doubled("qtm")
    return [joined([double.settings(), double.message(frame)[HEADER.size :]])]  # type: ignore[attr-defined]


def feed_qtm(data: bytes) -> None:
    """Decode the first packet as settings, the others as data."""
    settings = QtmSettings(CaptureDescription((), "mm", "", 0.0), (), 1e-3)
    for k, packet in enumerate(parted(data)):
        try:
            if k == 0 or packet.startswith(b"<"):
                settings = read_settings(packet)
                found = settings.description
                check_description(found.names, found.plates, found.rate)
                continue
        except ValueError:
            continue
        try:
            decoded = decode_data(memoryview(packet))
        except (MalformedPacketError, struct.error):
            continue
        if decoded.markers is not None:
            require(not np.isinf(decoded.markers).any(), "a marker is at infinity")
        forces = QtmForces(settings.description, settings.plates, settings.metres)
        stamp_ns = 1000 * decoded.stamp_us
        if decoded.plates and 0 <= stamp_ns < LATEST_NS:
            check_samples(forces.samples(decoded.plates, stamp_ns), len(settings.plates))


def vicon_seeds() -> list[bytes]:
    """Return a block with all static objects, and one with a frame alone."""
    double, frame = doubled("vicon")
    every = frozenset(range(1, 200_000))
    return [joined([double.block(frame, every, told) for told in (False, True)])]  # type: ignore[attr-defined]


def feed_vicon(data: bytes) -> None:
    """Decode blocks one after the other, as the connection does."""
    stream = ViconStream()
    for packet in parted(data):
        try:
            frame = stream.take(packet)
        except DecodeError:
            continue
        statics = stream.statics
        rows, plates = ViconRows(statics.subjects), ViconPlates(statics)
        check_description(rows.names, plates.descriptions(), 0.0)
        require(statics.period_ns >= 0, f"a period of {statics.period_ns} ns")
        if frame is None:
            continue
        require(
            rows.positions(frame.labelled)[0].shape == (len(rows.names), 3),
            "the array of rows has a wrong shape",
        )
        check_samples(plates.samples(frame, 0), len(statics.plates))


TARGETS = (
    FuzzTarget("natnet", feed_natnet, natnet_seeds, form="packets", megabytes=64.0),
    FuzzTarget("qtm", feed_qtm, qtm_seeds, form="packets", megabytes=64.0, refusals=(*REFUSALS, ValueError)),
    FuzzTarget("vicon", feed_vicon, vicon_seeds, form="packets", megabytes=64.0),
)
