"""The ring between the receiving and the reading thread."""

import threading
import tracemalloc

import numpy as np

from streams.codec import FieldLayout
from streams.messages import Session, marker_session
from streams.receiving.ring import MEMORY_MOST, Ring


def started(backlog: int, n_marker: int = 2) -> tuple[Ring, Session]:
    ring = Ring(backlog)
    return ring, begin(ring, n_marker)


def begin(ring: Ring, n_marker: int) -> Session:
    session = marker_session([str(i) for i in range(n_marker)], rate=100.0, t_start=0)
    ring.begin(session, FieldLayout(session))
    return session


def put(ring: Ring, seq: int) -> int:
    slot = ring.slot()
    slot.seq = seq
    slot.flat[:] = seq
    return ring.push()


def read_all(ring: Ring) -> list[int]:
    seqs = []
    while (frame := ring.pop(0.0)) is not None:
        assert (frame.data["positions"] == frame.seq).all()
        seqs.append(frame.seq)
    return seqs


def test_frames_are_kept_in_order_up_to_the_backlog():
    """Protects the drain policy: in order, and the oldest go first."""
    ring, _ = started(3)
    assert [put(ring, seq) for seq in range(5)] == [0, 0, 0, 1, 1]
    assert read_all(ring) == [2, 3, 4]


def test_memory_of_large_frames_is_bounded():
    """Protects the reader's memory: large frames wait in a short backlog, whatever was asked for."""
    ring, _ = started(512, n_marker=40_000)
    n_byte = 8 * 3 * 40_000
    n_over = sum(put(ring, seq) for seq in range(100))
    kept = read_all(ring)
    assert (len(kept) + 1) * n_byte > MEMORY_MOST >= len(kept) * n_byte
    assert n_over + len(kept) == 100
    assert kept[-1] == 99


def test_small_frames_make_room_for_large_ones():
    """Protects the bound over a change of session: the bytes of both count, and the oldest go first."""
    ring, _ = started(512, n_marker=1)
    assert sum(put(ring, seq) for seq in range(512)) == 0
    begin(ring, 40_000)
    n_over = sum(put(ring, seq) for seq in range(512, 612))
    kept = read_all(ring)
    assert n_over + len(kept) == 612
    assert kept == list(range(612 - len(kept), 612))
    assert 8 * 3 * 40_000 * len(kept) <= MEMORY_MOST


def test_backlog_of_one_is_the_newest():
    """Protects the lowest latency setting."""
    ring, _ = started(1)
    for seq in range(4):
        put(ring, seq)
    assert read_all(ring) == [3]


def test_the_readers_frame_is_not_overwritten():
    """Protects the reader: its frame stays as it was while any number arrive."""
    ring, _ = started(2)
    put(ring, 0)
    frame = ring.pop(0.0)
    assert frame is not None
    for seq in range(1, 50):
        put(ring, seq)
    assert frame.seq == 0
    assert (frame.data["positions"] == 0.0).all()


def test_slots_are_reused():
    """Protects the loop from allocation: no arrays are made after the beginning."""
    ring, _ = started(2)
    seen = set()
    for seq in range(100):
        put(ring, seq)
        frame = ring.pop(0.0)
        assert frame is not None
        seen.add(id(frame.flat))
    assert len(seen) <= 4


def test_frames_of_the_former_session_stay_readable():
    """Protects a restart: nothing unread is thrown away, and descriptor and frame belong together."""
    ring, first = started(4)
    put(ring, 0)
    put(ring, 1)
    second = begin(ring, n_marker=5)
    put(ring, 100)
    assert ring.session is second
    for seq, session, n_marker in ((0, first, 2), (1, first, 2), (100, second, 5)):
        frame = ring.pop(0.0)
        assert frame is not None
        assert frame.seq == seq
        assert frame.session is session
        assert ring.session is session
        assert frame.data["positions"].shape == (n_marker, 3)
    assert ring.pop(0.0) is None
    assert ring.session is second


def test_a_waiting_reader_is_woken():
    """Protects the hand-over: a frame, a nudge and closing each end a wait that would last for minutes."""
    ring, _ = started(2)
    for act, expected in ((lambda: put(ring, 7), 7), (ring.nudge, None), (ring.close, None)):
        timer = threading.Timer(0.02, act)
        timer.start()
        frame = ring.pop(300.0)
        timer.join()
        assert (frame.seq if frame is not None else None) == expected
    assert ring.pop(300.0) is None


def test_no_frame_is_torn_between_two_threads():
    """Protects against races: every frame read is whole, in order, and all are read or dropped."""
    ring, _ = started(3, n_marker=50)
    n_frame, n_dropped = 20_000, 0

    def write() -> None:
        nonlocal n_dropped
        for seq in range(n_frame):
            n_dropped += put(ring, seq)
        ring.close()

    writer = threading.Thread(target=write)
    writer.start()
    seqs = []
    while (frame := ring.pop(20.0)) is not None:
        values = frame.data["positions"]
        assert np.all(values == frame.seq)
        seqs.append(frame.seq)
    writer.join()
    assert seqs == sorted(set(seqs))
    assert len(seqs) + n_dropped == n_frame


def test_a_session_makes_room_among_its_own_frames():
    """Protects a stream from others beside it: what they send does not push its frames out."""
    ring, first = started(2)
    put(ring, 0)
    second = begin(ring, n_marker=1)
    assert [put(ring, seq) for seq in range(5)] == [0, 0, 1, 1, 1]
    third = begin(ring, n_marker=3)
    put(ring, 9)
    read = []
    while (frame := ring.pop(0.0)) is not None:
        read.append((frame.session, frame.seq))
    assert read == [(first, 0), (second, 3), (second, 4), (third, 9)]


def test_frames_of_many_sessions_are_bounded_in_number():
    """Protects memory from sessions in floods while the reader is away: the oldest frames go."""
    ring, _ = started(2)
    n_dropped = 0
    for seq in range(400):
        begin(ring, n_marker=1)
        n_dropped += put(ring, seq)
    kept = read_all(ring)
    assert kept == list(range(400 - len(kept), 400))
    assert len(kept) + n_dropped == 400
    assert n_dropped > 0


def test_a_descriptor_alone_takes_no_memory():
    """Protects memory and time from descriptors of large frames that never come."""
    ring = Ring(1000)
    tracemalloc.start()
    try:
        for _ in range(20):
            begin(ring, n_marker=43_000)
        assert tracemalloc.get_traced_memory()[1] < 20e6  # of 20 GB
    finally:
        tracemalloc.stop()
