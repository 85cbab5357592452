"""The bench of capture systems: its doubles do what it needs of them, and its figures count what they say."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from benchmarks.adapters.chain import Taken
from benchmarks.adapters.damage import damaged
from benchmarks.adapters.double import (
    ByteDouble,
    CaptureDouble,
    DoubledFrame,
    double_of,
    doubled_schemes,
    has_bytes,
)
from benchmarks.adapters.drive import DoubledWalker, positions_of, server_ns
from benchmarks.adapters.estimated import between
from benchmarks.adapters.restarts import lost
from benchmarks.adapters.run import doubled, ending, seq_gaps
from streams.capture.system import parse_capture, systems

SCHEMES = doubled_schemes()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_double_is_what_the_bench_asks_for(scheme):
    """Protects `rtsim bench adapters`: a new double has all that is asked of one."""
    double = double_of(scheme)
    kind = ByteDouble if has_bytes(double) else CaptureDouble
    wanted = {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}
    assert sorted(wanted - set(dir(double))) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_running_double_is_connected_to_by_its_address(scheme):
    """Protects the benches' doubles: the system of that name opens a connection and reads the names."""
    if scheme == "lsl":
        pytest.importorskip("pylsl")
    double = double_of(scheme)(["A", "B", "C"], 100.0)
    double.start()
    try:
        connection = systems()[scheme].open(parse_capture(double.address))
        names = [name.rpartition(":")[2] for name in connection.description().names]
        assert names == ([] if scheme == "vicon" else ["A", "B", "C"])  # Vicon's come with frames
        connection.close()
    finally:
        double.stop()


@pytest.mark.parametrize("k", [0, 1, 12_345, 100_001])
def test_frames_are_known_again_after_32_bits(k):
    """Protects the count of lost frames: a frame's number survives metres and millimetres in 32 bits."""
    place = positions_of(k, 60)[-1, 0]
    assert float(np.float32(place)) == place
    assert round(8.0 * 1e-3 * float(np.float32(1e3 * place))) == k
    assert server_ns(10**15) > 10**15


def test_damage_is_the_same_in_every_run_and_rarely_hides_the_next_message():
    """Protects the bench's promise: so many damaged messages, from a seed, of their former length."""
    message = bytes(range(200))
    runs = [
        [damaged(message, random, 8) for _ in range(3000)] for random in map(np.random.default_rng, (5, 5))
    ]
    assert runs[0] == runs[1]
    assert {len(data) for data in runs[0]} == {200}
    assert sum(data[:8] != message[:8] for data in runs[0]) < 20
    assert sum(data == message for data in runs[0]) < 30


def test_gaps_and_doubles_are_counted():
    """Protects figures of restarts: a gap within a session counts, a new session's 0 does not."""
    rows = [("a", 0, 5), ("a", 1, 6), ("a", 3, 7), ("b", 0, 7), ("b", 1, 8)]
    taken = [Taken(session, seq, 0, 0, frame, ()) for session, seq, frame in rows]
    assert (seq_gaps(taken), doubled(taken)) == (1, 1)
    assert ending(("Anna:M01", "M02"), ("M01", "M02"))
    assert not ending(("M02", "M01"), ("M01", "M02"))


def test_a_frame_of_a_double_is_decoded():
    """Protects decode_us: what is timed does decode."""
    double = double_of("qtm")(["A"], 100.0)
    packet = double.decoder(DoubledFrame(np.ones((1, 3)), 5000, 7))()
    assert packet.markers.tolist() == [[1000.0, 1000.0, 1000.0]]


def test_frames_while_a_server_is_away_are_not_lost():
    """Protects the run with restarts: what is sent while nobody is connected counts not, the rest does."""
    log = np.array([(k, 0, 100 * k) for k in range(10)])
    taken = [Taken("a", k, 0, 0, k, ()) for k in (1, 2, 6, 7, 9)]
    assert lost(taken, log, [(300, 500)]) == 1
    assert lost(taken, log, []) == 4


def test_the_walker_is_among_the_markers_of_a_double():
    """Protects the chain with an estimator: as many markers as else, the walker's first, upright for all."""
    z, y = DoubledWalker(200.0, 60, True), DoubledWalker(200.0, 60, False)
    n = len(y.names) - sum(name.startswith("M") for name in y.names)
    assert z.positions(3).shape == y.positions(0).shape == (60, 3)
    assert len(set(y.names)) == 60
    assert n > 10
    np.testing.assert_allclose(z.positions(7)[:n, 2], y.positions(7)[:n, 1])
    assert between(np.array([[0, 1000, 3000], [0, 2000, 6000], [0, 3000, 9000]])) == (4.0, 6.0)
