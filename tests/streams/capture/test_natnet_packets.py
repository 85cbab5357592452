"""NatNet's packets, bytes to arrays: every version, other people's packets and decoders, and damage."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.doubles.natnet import NatNetDouble
from benchmarks.adapters.natnet_writer import (
    Body,
    Stamps,
    asset_markers,
    definitions,
    frame,
    labelled,
    server_info,
)
from streams.capture.natnet.frame import decode_frame
from streams.capture.natnet.markers import NamedRows, unnamed_markers
from streams.capture.natnet.messages import decode_definitions, decode_echo, decode_server_info
from streams.capture.natnet.plates import NatNetPlates
from streams.errors import DecodeError
from tests.streams.capture.mutations import survived

VERSIONS = [(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]
NAMES = ["LASI", "RASI", "LPSI", "RPSI", "SACR"]
CORNERS = np.array([[0.6, 0.0, 0.4], [0.0, 0.0, 0.4], [0.0, 0.0, 0.0], [0.6, 0.0, 0.0]])
"""In C3D's order, of a plate whose z points down where Y points up: x along X, y along Z."""
PACKETS = Path(os.environ.get("RTSIM_NATNET_PACKETS", "no such folder"))
"""Folder test_data of the repository mje-nz/python_natnet (BSD 3-clause), where there is a copy."""


def a_double(version: tuple[int, int] = (4, 1), plates: bool = True) -> NatNetDouble:
    double = NatNetDouble(NAMES, 200.0, [DoubledPlate("FP 1", CORNERS, 1000.0)] if plates else [])
    double.version = version
    return double


def a_frame(**others) -> DoubledFrame:
    positions = np.arange(15.0).reshape(5, 3) / 8.0
    positions[1] = np.nan
    given = {"positions": positions, "stamp_ns": 3_600_123_456_700, "number": 7}
    given["unnamed"] = np.array([[1.0, 2.0, 3.0]])
    return DoubledFrame(**{**given, **others})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_as_written(version):
    """Protects positions, occlusion, stamps, flags and plates of frames in all versions from 3.0 to 4.2."""
    double = a_double(version)
    wrench = np.zeros((1, 5, 9))
    wrench[0, :, :3] = [10.0, 800.0, 5.0]
    sent = a_frame(wrenches=wrench)
    defined = decode_definitions(double.definitions(), version)
    decoded = decode_frame(double.message(sent), version)
    rows = NamedRows(defined)
    assert rows.names == tuple(f"Anna:{name}" for name in NAMES)
    np.testing.assert_array_equal(rows.positions(decoded), sent.positions)
    np.testing.assert_array_equal(unnamed_markers(decoded), sent.unnamed)
    assert (decoded.number, decoded.exposed, decoded.params) == (7, 36_001_234_567, 0)
    double.describe(NAMES)
    assert decode_frame(double.message(sent), version).params == 2
    forces = NatNetPlates(defined).samples(decoded, 1000, 5_000_000)
    np.testing.assert_allclose(forces.force, wrench[:, :, :3], atol=1e-4)
    np.testing.assert_allclose(forces.moment, wrench[:, :, 3:6], atol=1e-3)
    np.testing.assert_array_equal(forces.stamps, 1000 + 1_000_000 * np.arange(5))


def test_a_marker_set_without_flags_has_zeros_for_occlusion():
    """Protects marker sets that belong to no asset: 0, 0, 0 is occluded, everything else seen."""
    set_only = definitions((3, 0), [Body("Anna", 3, NAMES)])
    rows = NamedRows(decode_definitions(set_only, (3, 0)))
    points = np.ones((5, 3))
    points[2] = 0.0
    decoded = decode_frame(frame((3, 0), 1, {"Anna": points}, b"", Stamps(0.0, 1, 2, 3)), (3, 0))
    assert np.isnan(rows.positions(decoded)).all(axis=1).tolist() == [False, False, True, False, False]


def test_a_labelled_marker_that_is_missing_is_occluded():
    """Protects against last positions that a server goes on sending: without its labelled marker a marker of
    an asset is gone, wherever the set has it, and whatever the order of the list.
    """
    rows = NamedRows(decode_definitions(definitions((3, 0), [Body("Anna", 3, NAMES)]), (3, 0)))
    points = np.arange(15.0).reshape(5, 3) + 1.0
    for numbers in ([5, 1, 2, 4, 3], [5, 1, 4, 3]):
        content = labelled(
            [3 << 16 | n for n in numbers], points[[n - 1 for n in numbers]], [2] * len(numbers)
        )
        decoded = decode_frame(frame((3, 0), 1, {"Anna": points}, content, Stamps(0.0, 1, 2, 3)), (3, 0))
        found = rows.positions(decoded)
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False, False, False]
    np.testing.assert_array_equal(np.delete(found, 1, 0), np.delete(points, 1, 0))


def test_another_numbering_of_labelled_markers_is_noticed():
    """Protects flags from being given to the wrong markers: numbers in another order are not used."""
    rows = NamedRows(decode_definitions(definitions((3, 0), [Body("Anna", 3, NAMES)]), (3, 0)))
    points = np.arange(15.0).reshape(5, 3) + 1.0
    content = labelled([3 << 16 | n for n in range(1, 6)], points[::-1], [1, 2, 2, 2, 2])
    decoded = decode_frame(frame((3, 0), 1, {"Anna": points}, content, Stamps(0.0, 1, 2, 3)), (3, 0))
    np.testing.assert_array_equal(rows.positions(decoded), points)
    assert rows.disagreeing == 1


def test_a_trained_set_that_is_an_asset_alone_has_its_markers():
    """Protects assets of 4.1 and later, whose markers come by number and may be occluded."""
    defined = decode_definitions(definitions((4, 2), [], trained=[Body("Bob", 4, NAMES)]), (4, 2))
    rows = NamedRows(defined)
    points = np.arange(15.0).reshape(5, 3) + 1.0
    content = labelled([2, 1, 3, 4, 5], points[[1, 0, 2, 3, 4]], [0, 0, 1, 0, 0])
    packet = frame((4, 2), 1, {}, b"", Stamps(0.0, 1, 2, 3), assets={4: asset_markers(content)})
    points[2] = np.nan
    np.testing.assert_array_equal(rows.positions(decode_frame(packet, (4, 2))), points)
    assert rows.names == tuple(f"Bob:{name}" for name in NAMES)


def test_two_sets_of_one_name_are_told():
    """Protects from a set that is missing in silence: frames cannot tell two of one name apart."""
    twice = decode_definitions(
        definitions((3, 0), [Body("Anna", 3, NAMES), Body("Anna", 4, NAMES[:2])]), (3, 0)
    )
    assert (len(twice.sets), twice.unread) == (1, 1)
    assert decode_definitions(definitions((3, 0), [Body("Anna", 3, NAMES)]), (3, 0)).unread == 0


def test_a_set_of_another_size_than_defined_is_refused():
    """Protects names: positions are never given to names by position where their number differs."""
    rows = NamedRows(decode_definitions(definitions((3, 0), [Body("Anna", 3, NAMES)]), (3, 0)))
    packet = frame((3, 0), 1, {"Anna": np.ones((6, 3))}, b"", Stamps(0.0, 1, 2, 3))
    assert rows.positions(decode_frame(packet, (3, 0))) is None


def test_the_servers_description_and_echo_are_read():
    """Protects the conversation's beginning: versions, the clock's ticks, ports and the group."""
    info = decode_server_info(server_info((4, 1), 10_000_000, 1511, True, "239.255.42.99"))
    assert info == ("Motive 3.1.0.1", (4, 1), 10_000_000, 1511, True, "239.255.42.99")
    assert decode_echo(struct.pack("<HHQQ", 13, 16, 5, 77)) == (5, 77)
    with pytest.raises(DecodeError, match="ticks"):
        decode_server_info(server_info((4, 1), 1 << 60, 1511, True, "239.255.42.99"))


def test_a_recorded_list_of_definitions_is_read_to_its_last_byte():
    """Protects against a misunderstanding that the double shares: Motive sent this list (NatNet 3.0), which
    is public in the tests of mje-nz/python_natnet, where they are compared with its bytes.
    """
    places = [
        (0.1611589938402176, 0.03505159914493561, -0.03218130022287369),
        (-0.0308190006762743, 0.03978189826011658, -0.021990099921822548),
        (0.1875309944152832, -0.03338329866528511, 0.1480810046195984),
        (-0.0748715028166771, 6.686070264549926e-05, 0.03292329981923103),
        (-0.05803820118308067, -0.03194189816713333, -0.13680699467658997),
    ]
    content = struct.pack("<II", 3, 1) + b"RaceQuad\0" + struct.pack("<ii3fI", 2, -1, 0.0, 0.0, 0.0, 5)
    content += np.array(places, "<f4").tobytes() + bytes(20)
    content += struct.pack("<I", 0) + b"RaceQuad\0" + struct.pack("<I", 5)
    content += b"".join(b"Marker%d\0" % k for k in range(1, 6))
    content += struct.pack("<I", 0) + b"all\0" + struct.pack("<I", 5)
    content += b"".join(b"RaceQuad_%d\0" % k for k in range(1, 6))
    (one,) = decode_definitions(struct.pack("<HH", 5, len(content)) + content, (3, 0)).sets
    assert one == ("RaceQuad", tuple(f"Marker{k}" for k in range(1, 6)), 2, ())


@pytest.mark.skipif(not PACKETS.is_dir(), reason="RTSIM_NATNET_PACKETS names no folder of recorded packets")
def test_recorded_packets_are_read_exactly():
    """Protects the decoder against a real Motive: figures are those of NaturalPoint's SampleClient, as the
    tests of mje-nz/python_natnet have them.
    """
    decoded = decode_frame((PACKETS / "mocapframe_packet_v3.bin").read_bytes(), (3, 0))
    assert (decoded.number, decoded.params) == (162_734, 0)
    assert (decoded.exposed, decoded.received, decoded.sent) == (
        1_416_497_730_518,
        1_416_497_745_808,
        1_416_497_748_722,
    )
    assert decoded.labelled["number"].tolist()[0] == 2 << 16 | 1
    np.testing.assert_allclose(decoded.labelled["position"][5], (0.1708117, 1.5076591, -0.8402346), rtol=1e-6)
    assert decoded.labelled["params"].tolist()[5] == 18
    assert decoded.time == pytest.approx(1356.117)
    defined = decode_definitions((PACKETS / "modeldef_packet_skeleton_v3.bin").read_bytes(), (3, 0))
    assert (defined.sets[0].name, len(defined.sets[0].markers), defined.sets[0].asset) == (
        "Skeleton 002",
        37,
        3,
    )


@pytest.mark.parametrize("version", VERSIONS[:4])
def test_the_vendors_sample_client_reads_the_double(version):
    """Protects the double, and so what is tested by it: NaturalPoint's own decoder finds the same in it."""
    client = pytest.importorskip("natnetsdk.NatNetClient").NatNetClient()
    double = a_double(version)
    sent = a_frame(wrenches=np.ones((1, 5, 9)))
    packet = double.message(sent)
    n_read, read = client._NatNetClient__unpack_mocap_data(packet[4:], len(packet) - 4, *version)
    assert n_read == len(packet) - 4 - 4  # but for the tag at the end
    marks = read.labeled_marker_data.labeled_marker_list
    occluded = [bool(mark.param & 1) for mark in marks]
    assert occluded == [False, True, False, False, False, False]
    np.testing.assert_array_equal(
        [m.pos for m in marks[:5] if not m.param & 1], np.delete(sent.positions, 1, 0)
    )
    assert read.suffix_data.stamp_camera_mid_exposure == 36_001_234_567
    assert read.force_plate_data.get_force_plate_count() == 1
    content = double.definitions()
    n_read, _ = client._NatNetClient__unpack_data_descriptions(content[4:], len(content) - 4, *version)
    assert n_read == len(content) - 4


@pytest.mark.parametrize("version", [(3, 0), (4, 1), (4, 2)])
def test_damaged_packets_are_refused_or_read_and_nothing_else(version):
    """Protects a live run: no damage of a packet raises anything else, hangs, or makes memory grow."""
    double = a_double(version)
    rows = NamedRows(decode_definitions(double.definitions(), version))
    plates = NatNetPlates(decode_definitions(double.definitions(), version))

    def decode(packet: bytes) -> None:
        decoded = decode_frame(packet, version)
        rows.positions(decoded)
        unnamed_markers(decoded)
        plates.samples(decoded, 1, 5_000_000)

    def define(packet: bytes) -> None:
        defined = decode_definitions(packet, version)
        NamedRows(defined), NatNetPlates(defined)

    sent = [double.message(a_frame(wrenches=np.ones((1, 5, 9)))), double.message(a_frame())]
    with np.errstate(all="ignore"):
        assert survived(decode, sent, 1500) > 300
        assert survived(define, [double.definitions()], 800) > 200
