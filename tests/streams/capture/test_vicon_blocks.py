"""Vicon's blocks, bytes to arrays: subjects, occlusion by absence, plates, what is unchanged, and damage."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from benchmarks.adapters.double import DoubledFrame, DoubledPlate
from benchmarks.adapters.doubles.vicon import OFFERED, ViconDouble, block
from streams.capture.vicon.plates import ViconPlates
from streams.capture.vicon.stream import ViconRows, ViconStream
from streams.errors import DecodeError
from tests.streams.capture.mutations import survived

NAMES = ["LASI", "RASI", "LPSI", "RPSI", "SACR"]
CORNERS = np.array([[0.6, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.4, 0.0], [0.6, 0.4, 0.0]])
"""In C3D's order, of a plate whose z points down where Z points up: x along X, y against Y."""
PERIOD_NS = 5_000_000
EVERYTHING = frozenset(OFFERED)


def a_double() -> ViconDouble:
    return ViconDouble(NAMES, 200.0, [DoubledPlate("Plate 1", CORNERS, 1000.0)])


def a_frame(**others) -> DoubledFrame:
    positions = np.arange(15.0).reshape(5, 3) / 8.0
    positions[1] = np.nan
    return DoubledFrame(**{"positions": positions, "stamp_ns": 1, "number": 7, **others})


def test_a_frame_is_read_as_written():
    """Protects names, positions, the age, unnamed markers and what the server says once."""
    double, stream = a_double(), ViconStream()
    sent = a_frame(unnamed=np.array([[1.0, 2.0, 3.0]]))
    decoded = stream.take(double.block(sent, EVERYTHING, False, age_s=0.004))
    rows = ViconRows(stream.statics.subjects)
    assert rows.names == tuple(f"Anna:{name}" for name in NAMES)
    positions, n_unknown = rows.positions(decoded.labelled)
    np.testing.assert_array_equal(positions, 1e3 * sent.positions)
    assert n_unknown == 0
    assert (decoded.number, decoded.latency_s, stream.statics.up) == (7, 0.004, "+Z")
    assert stream.statics.period_ns == PERIOD_NS
    np.testing.assert_array_equal(decoded.unlabelled["position"], [[1000.0, 2000.0, 3000.0]])


def test_what_is_unchanged_is_kept_and_what_is_new_replaces_it():
    """Protects names over a whole session: static objects come once, and again where they have changed."""
    double, stream = a_double(), ViconStream()
    stream.take(double.block(a_frame(), EVERYTHING, False))
    stream.take(double.block(a_frame(), EVERYTHING, True))
    assert len(stream.statics.subjects[0].markers) == 5
    assert stream.n_change == 1
    double.describe(NAMES[::-1])
    stream.take(double.block(a_frame(), EVERYTHING, False))
    assert ViconRows(stream.statics.subjects).names == tuple(f"Anna:{name}" for name in NAMES[::-1])


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_plates_are_turned_into_the_laboratory(scale):
    """Protects kinetics: forces and moments in the plate's axes, in N m or N mm, become those of the
    laboratory about its origin; samples of a component stand together.
    """
    double, stream = a_double(), ViconStream()
    double.moment_scale = scale
    wrench = np.zeros((1, 5, 9))
    wrench[0, :, :3] = np.arange(15.0).reshape(5, 3) + np.array((10.0, 20.0, 700.0))
    wrench[0, :, 3:6] = np.cross((0.2, 0.3, 0.0), wrench[0, :, :3]) + np.array((0.0, 0.0, 4.0))
    decoded = stream.take(double.block(a_frame(wrenches=wrench), EVERYTHING, False))
    plates = ViconPlates(stream.statics)
    forces = plates.samples(decoded, 1000)
    np.testing.assert_allclose(forces.force, wrench[:, :, :3], rtol=1e-5)
    np.testing.assert_allclose(forces.moment, wrench[:, :, 3:6], atol=1e-2)
    np.testing.assert_array_equal(forces.stamps, 1000 + 1_000_000 * np.arange(5))
    (description,) = plates.descriptions()
    assert description.name == "Plate 1"
    np.testing.assert_allclose(description.corners, CORNERS, atol=1e-6)
    assert plates.in_millimetres == (scale == 1000.0)


def test_unknown_objects_and_longer_ones_are_passed_over():
    """Protects against newer servers: objects of unknown kinds, and fields behind those that are known."""
    double, stream = a_double(), ViconStream()
    stream.take(double.block(a_frame(), EVERYTHING, False))
    number = struct.pack("<I", 9)
    none = struct.pack("<I", 0)
    decoded = stream.take(block([(4711, b"anything"), (5, number + b"more"), (6, none), (9, b"")]))
    assert decoded.number == 9
    positions, _ = ViconRows(stream.statics.subjects).positions(decoded.labelled)
    assert np.isnan(positions).all()


def test_markers_of_no_subject_are_counted():
    """Protects against a recon of a subject that is not described: counted, not given to another marker."""
    double, stream = a_double(), ViconStream()
    decoded = stream.take(double.block(a_frame(), EVERYTHING, False))
    rows = ViconRows(stream.statics.subjects[:0])
    positions, n_unknown = rows.positions(decoded.labelled)
    assert (positions.shape, n_unknown) == ((0, 3), 4)
    subject = stream.statics.subjects[0]
    some = ViconRows((subject._replace(markers={0: "LASI", 4: "SACR"}),))
    positions, n_unknown = some.positions(decoded.labelled)
    np.testing.assert_array_equal(positions, 1e3 * a_frame().positions[[0, 4]])
    assert n_unknown == 2


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\1\0\x2b\x1a",
        struct.pack("<II", 0x1A2B0001, 100),
        struct.pack("<II", 0x1A2B0002, 0),
        block([(6, struct.pack("<I", 0xFFFFFFFF))]),
        block([(2, struct.pack("<III", 1, 0xFFFFFFFF, 0))]),
        block([(5, b"\0")]),
    ],
)
def test_blocks_that_contradict_themselves_are_refused(raw):
    """Protects memory: lengths and counts are compared with the bytes that are there before use."""
    with pytest.raises(DecodeError):
        ViconStream().take(raw)


def test_damaged_blocks_are_refused_or_read_and_nothing_else():
    """Protects a live run: no damage of a block raises anything else, hangs, or makes memory grow."""
    double = a_double()
    sent = a_frame(wrenches=np.ones((1, 5, 9)))
    blocks = [double.block(sent, EVERYTHING, False), double.block(sent, EVERYTHING, True)]
    stream = ViconStream()

    def decode(raw: bytes) -> None:
        decoded = stream.take(raw)
        if decoded is not None:
            ViconRows(stream.statics.subjects).positions(decoded.labelled)
            ViconPlates(stream.statics).samples(decoded, 0)

    with np.errstate(all="ignore"):
        assert survived(decode, blocks, 2500) > 500
