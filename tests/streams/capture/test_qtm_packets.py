"""QTM's packets and settings as bytes: known ones are read, damaged and impossible ones refused."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc

import numpy as np
import pytest

from benchmarks.adapters.damage import damaged
from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.doubles.qtm import QtmDouble
from streams.capture.qtm.packets import HEADER, MalformedPacketError, decode_data
from streams.capture.qtm.settings import read_settings

CORNERS = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.6, 0.4, 0.0], [0.0, 0.4, 0.0]])


def a_packet() -> bytes:
    """Return a packet of everything that is read."""
    double = QtmDouble(["A", "B"], 100.0, [DoubledPlate("P", CORNERS, 1000.0)])
    double.timecode = True
    rows = np.array([[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0]])
    wrenches = np.arange(27.0).reshape(1, 3, 9)
    return double.message(DoubledFrame(rows, 5_000_000, 9, rows[:1], wrenches))


def test_bytes_written_by_hand_are_read():
    """Protects the layout: a packet put together from the published numbers, byte by byte."""
    markers = struct.pack("<Ihh", 2, 3, 4) + struct.pack("<6f", 1, 2, 3, float("nan"), 5, 6)
    single = struct.pack("<ii", 1, 7) + struct.pack("<9f", *range(9))
    body = struct.pack("<qII", -5, 77, 3)
    for kind, part in ((1, markers), (15, single), (99, b"whatever")):
        body += struct.pack("<II", 8 + len(part), kind) + part
    packet = decode_data(memoryview(body))
    assert (packet.stamp_us, packet.number, packet.dropped, packet.out_of_sync) == (-5, 77, 3, 4)
    np.testing.assert_array_equal(packet.markers, [[1.0, 2.0, 3.0], [np.nan, np.nan, np.nan]])
    assert packet.plates[0].plate == 7
    assert packet.plates[0].values.tolist() == [[float(x) for x in range(9)]]


def test_markers_with_residuals_are_read_without_them():
    """Protects the other component of markers: the fourth number is no coordinate."""
    part = struct.pack("<Ihh", 1, 0, 0) + struct.pack("<4f", 1, 2, 3, 9)
    body = struct.pack("<qII", 0, 0, 1) + struct.pack("<II", 8 + len(part), 9) + part
    assert decode_data(memoryview(body)).markers.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("n", range(8, 200, 7))
def test_a_cut_packet_is_refused(n):
    """Protects against lengths that promise more than there is."""
    whole = a_packet()[HEADER.size :]
    if n < len(whole):
        with pytest.raises(MalformedPacketError):
            decode_data(memoryview(whole[:n]))


def test_damaged_packets_are_read_or_refused_and_cost_no_memory():
    """Protects the relay: twenty thousand damaged packets raise nothing else and keep nothing."""
    packet, random = a_packet()[HEADER.size :], np.random.default_rng(3)
    tracemalloc.start()
    n_refused = 0
    for _ in range(20_000):
        try:
            decode_data(memoryview(damaged(packet, random, 0)))
        except MalformedPacketError:
            n_refused += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 5_000 < n_refused < 19_000
    assert peak < 5e6


def test_settings_are_read():
    """Protects labels in their order, with characters of XML in them, rate, axis and plates."""
    double = QtmDouble(["A&B", "C", "C"], 183.5, [DoubledPlate("<left>", CORNERS, 900.0)])
    double.up = "-Y"
    settings = read_settings(double.settings())
    assert settings.description.names == ("A&B", "C", "C")
    assert (settings.description.up, settings.description.unit, settings.description.rate) == (
        "-Y",
        "mm",
        183.5,
    )
    (plate,) = settings.description.plates
    assert (plate.name, plate.rate, settings.plates) == ("<left>", 900.0, (1,))
    np.testing.assert_allclose(plate.corners, CORNERS)


def test_settings_that_say_little_leave_it_open():
    """Protects against guesses: no axis, rate, corners or plates where the settings tell none."""
    xml = b"<Q><The_3D><Label><Name>A</Name></Label></The_3D><Force><Plate/></Force></Q>"
    description = read_settings(xml).description
    assert (description.names, description.up, description.rate) == (("A",), "", 0.0)
    assert description.plates[0] == ("plate_1", (), 0.0)
    assert read_settings(b"<Q/>").description.names == ()


@pytest.mark.parametrize(
    "xml",
    [
        b"", b"<Q>", b"no xml", b"\xff\xfe\x00", b"<!DOCTYPE q [<!ENTITY a 'b'>]><Q>&a;</Q>",
        "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE q [<!ENTITY a 'b'>]><Q>&a;</Q>".encode("utf-16"),
        b"<!DOCTYPE Q SYSTEM 'file:///etc/passwd'><Q/>",
        b"<Q>" * 100_000, b"<Q><The_3D>" + b"<Label/>" * 5000 + b"</The_3D></Q>", b" " * (1 << 21),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(xml):
    """Protects against settings of a stranger: one kind of fault, with words."""
    with pytest.raises(ValueError, match="settings"):
        read_settings(xml)


def test_damaged_settings_are_read_or_refused():
    """Protects against settings of every kind: a description or a ValueError."""
    xml = QtmDouble(["A", "B"], 100.0, [DoubledPlate("P", CORNERS, 1000.0)]).settings()
    random = np.random.default_rng(4)
    whole, n_read = type(read_settings(xml)), 0
    for _ in range(3000):
        with contextlib.suppress(ValueError):
            assert isinstance(read_settings(damaged(xml, random, 0)), whole)
            n_read += 1
    assert 0 < n_read < 3000
