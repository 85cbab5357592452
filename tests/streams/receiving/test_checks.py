"""The checks of what arrives, without sockets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.receiving.checks import CaptureClockCheck, EventLog, OrderCheck, clean

S = 1_000_000_000


def judge_all(seqs):
    check = OrderCheck()
    return [(check.judge(seq), check.n_lost) for seq in seqs]


def test_order_verdicts():
    """Protects the meaning of lost, duplicate and out of order."""
    assert judge_all([5, 6, 6, 9, 7, 5, 10]) == [
        ("in_order", 0),
        ("in_order", 0),
        ("duplicate", 0),
        ("in_order", 2),
        ("out_of_order", 0),
        ("duplicate", 0),
        ("in_order", 0),
    ]


def test_one_damaged_seq_does_not_end_the_stream():
    """Protects the stream from a single absurd number, after which every true frame would be too old."""
    assert judge_all([1, 2**62, 2, 3]) == [
        ("in_order", 0),
        ("out_of_order", 0),
        ("in_order", 0),
        ("in_order", 0),
    ]


def test_a_damaged_first_seq_does_not_end_the_stream():
    """Protects the stream from the same in its first frame, or in two: one true frame in doubt, then all."""
    absurd = 2**63 - 1
    for beginning in ([absurd], [1, absurd - 1, absurd]):
        verdicts = [verdict for verdict, _ in judge_all([*beginning, 2, 3, 3, 4, 2, 1, absurd, 5])]
        assert verdicts[len(beginning) :] == [
            "out_of_order", "in_order", "duplicate", "in_order", "out_of_order", "out_of_order",
            "out_of_order", "in_order",
        ]  # fmt: skip


def test_a_confirmed_jump_is_followed():
    """Protects long interruptions: the second frame after a large gap is believed, and all are counted."""
    verdicts = judge_all([1, 50_000, 50_001, 50_002])
    assert [verdict for verdict, _ in verdicts] == ["in_order", "out_of_order", "in_order", "in_order"]
    assert sum(n_lost for _, n_lost in verdicts) == 50_000 - 2


@given(st.lists(st.integers(0, 300), min_size=1, max_size=200))
def test_every_frame_is_counted_once(seqs):
    """Protects the books: used frames rise, and used + lost make the whole range."""
    check = OrderCheck()
    used, n_lost = [], 0
    for seq in seqs:
        if check.judge(seq) == "in_order":
            used.append(seq)
            n_lost += check.n_lost
    assert used == sorted(set(used))
    assert len(used) + n_lost == used[-1] - used[0] + 1


def test_missing_at_end():
    """Protects the count of frames lost just before the end."""
    check = OrderCheck()
    assert check.missing_at_end(100) == 0  # nothing seen: may have joined late
    check.judge(7)
    assert (check.missing_at_end(8), check.missing_at_end(11), check.missing_at_end(2)) == (0, 3, 0)
    assert check.missing_at_end(2**60) == 0


def test_clock_jumps():
    """Protects against untrusted timestamps: backwards, and ahead by more than a second."""
    check = CaptureClockCheck()
    offset = 12_345 * S
    assert not check.jumped(offset, 0)
    assert not check.jumped(offset + S // 100, S // 100)
    assert check.jumped(offset, S // 50)  # back
    assert not check.jumped(offset + S // 100, 3 * S // 100)
    assert check.jumped(offset + 2 * S, 4 * S // 100)  # ahead
    assert not check.jumped(offset + 2 * S + S // 100, 5 * S // 100)


def test_a_stall_is_no_clock_jump():
    """Protects from false alarm: frames held up by the network and then delivered in a burst, with a gap."""
    check = CaptureClockCheck()
    assert not check.jumped(10 * S, 0)
    assert not check.jumped(10 * S + S // 100, 5 * S)
    assert not check.jumped(10 * S + S // 50, 5 * S)
    assert not check.jumped(15 * S, 5 * S)


def test_infinities_become_nan():
    """Protects the estimator from infinities; NaN and numbers stay."""
    values = np.array([1.0, np.inf, -np.inf, np.nan, -2.0])
    assert clean(values, [b"", values.tobytes()])
    np.testing.assert_array_equal(values, [1.0, np.nan, np.nan, np.nan, -2.0])
    assert not clean(values, [values.tobytes()])


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_one_infinity_among_numbers_is_found(infinity):
    """Protects the search of the bytes: one infinity anywhere, none where bytes only look like one."""
    for at in range(4):
        values = np.zeros(4)
        values[at] = infinity
        assert clean(values, [values.tobytes()])
        assert np.isnan(values[at])
        assert np.count_nonzero(values) == 1
    split = np.frombuffer(bytes(4) + np.array([infinity]).tobytes() + bytes(4)).copy()
    before = split.copy()
    assert not clean(split, [split.tobytes()])
    np.testing.assert_array_equal(split, before)


def test_each_kind_is_said_once_per_second_with_its_count():
    """Protects readers from floods, and the count from being cut."""
    log = EventLog()
    log.note("duplicate", 1, "the last was frame 1", 0)
    for t in range(1, 501):
        log.note("duplicate", 1, f"the last was frame {t}", t)
    log.note("lost", 3, "the last gap was before frame 9", 501)
    assert list(log.sentences) == [
        "1 frame came twice, the copies were dropped; the last was frame 1.",
        "3 frames lost on the way here; the last gap was before frame 9.",
    ]
    log.flush(S - 1)
    assert len(log.sentences) == 2
    log.flush(S)
    assert log.sentences[-1] == "500 frames came twice, the copies were dropped; the last was frame 500."
    log.flush(10 * S)
    assert len(log.sentences) == 3


def test_a_log_that_is_closed_says_all_it_knows():
    """Protects the end of a run: what came within the second before it is told too, once."""
    log = EventLog()
    for n in (1, 2, 4):
        log.note("lost", n, "somewhere", 1_000)
    log.note("duplicate", 1, "somewhere", 1_000)
    assert [sentence.split()[0] for sentence in log.sentences] == ["1", "1"]
    log.close()
    log.close()
    assert [sentence.split()[0] for sentence in log.sentences] == ["1", "1", "6"]


def test_a_loss_is_told_of_one_frame_only():
    """Protects the count of losses: a copy or a latecomer after a gap has none before it."""
    order = OrderCheck()
    assert (order.judge(0), order.n_lost) == ("in_order", 0)
    assert (order.judge(5), order.n_lost) == ("in_order", 4)
    assert (order.judge(5), order.n_lost) == ("duplicate", 0)
    assert (order.judge(3), order.n_lost) == ("out_of_order", 0)
    assert (order.judge(6), order.n_lost) == ("in_order", 0)
