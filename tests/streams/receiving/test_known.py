"""Which of the sessions on a stream comes first, and how many are known; on a clock of the test's own."""

import pytest

from streams.codec import MAX_PAYLOAD, FieldLayout
from streams.messages import marker_session
from streams.receiving.known import (
    AHEAD,
    MOST_KNOWN,
    SHORTEST_SILENCE_NS,
    STRETCH_NS,
    KnownSession,
    KnownSessions,
)

PERIOD_NS = 5_000_000


def a_session(t_ns: int = 0, n_byte: int = 100, rate: float = 200.0) -> KnownSession:
    session = marker_session(["RASI"], rate=rate, t_start=0)
    return KnownSession(session, FieldLayout(session), session.session.encode().ljust(n_byte), t_ns)


def heard(
    sessions: KnownSessions, known: KnownSession, first_ns: int, last_ns: int, every_ns: int = PERIOD_NS
) -> int:
    """Frames of a session as they come; when the last one came."""
    for t_ns in range(first_ns, last_ns, every_ns):
        sessions.hear(known, t_ns)
    return last_ns


@pytest.fixture
def walker() -> KnownSession:
    return a_session()


@pytest.fixture
def sessions(walker: KnownSession) -> KnownSessions:
    """The walker's frames have come for a second."""
    sessions = KnownSessions()
    sessions.add(walker, 0)
    heard(sessions, walker, 0, 10**9)
    return sessions


def test_a_thousand_sessions_take_nothing_from_the_one_that_goes_on(sessions, walker):
    """Protects the known session: it leads, and is known, whatever begins beside it."""
    for k in range(1000):
        t_ns = 10**9 + k * PERIOD_NS
        other = a_session(t_ns)
        sessions.add(other, t_ns)
        sessions.hear(other, t_ns)
        assert sessions.leader is walker
        sessions.hear(walker, t_ns + 1000)
    assert len(sessions) == MOST_KNOWN
    assert sessions.of(walker.session.session) is walker


def test_dense_frames_do_not_overtake(sessions, walker):
    """Protects against a flood of good frames: those within a stretch of time count as one."""
    dense = a_session(10**9)
    sessions.add(dense, 10**9)
    for k in range(400):
        t_ns = 10**9 + k * PERIOD_NS
        sessions.hear(walker, t_ns)
        for n in range(20):
            sessions.hear(dense, t_ns + 1000 * n)
        assert sessions.leader is walker


def test_a_session_that_pauses_is_followed_by_the_next(sessions, walker):
    """Protects a restart without an end: whoever sends leads when the former has been silent."""
    after = a_session(10**9)
    sessions.add(after, 10**9)
    t_ns = heard(sessions, after, 10**9, 10**9 + SHORTEST_SILENCE_NS + STRETCH_NS)
    assert sessions.leader is walker
    t_ns = heard(sessions, after, t_ns, t_ns + 2 * PERIOD_NS)
    assert sessions.leader is after
    sessions.hear(walker, t_ns)
    assert sessions.leader is after, "whoever paused begins anew"


def test_a_stream_that_stands_still_as_a_whole_is_no_pause_of_who_leads(sessions, walker):
    """Protects the lead from whose frame comes first after a stall of sender or receiver."""
    other = a_session(10**9)
    sessions.add(other, 10**9)
    t_ns = heard(sessions, other, 10**9, 10**9 + STRETCH_NS)
    sessions.hear(walker, t_ns)
    for _ in range(10):
        t_ns += 2 * SHORTEST_SILENCE_NS
        sessions.hear(other, t_ns)
        sessions.hear(walker, t_ns + 1000)
        assert sessions.leader is walker
    t_ns = heard(sessions, other, t_ns + 2000, t_ns + SHORTEST_SILENCE_NS)
    assert sessions.leader is walker


def test_a_newcomer_in_a_flood_follows_one_that_is_silent(sessions, walker):
    """Protects a restart while others begin sessions: they do not keep the lead for who is not there."""
    after = a_session(10**9)
    sessions.add(after, 10**9)
    for t_ns in range(10**9, 10**9 + SHORTEST_SILENCE_NS + 2 * STRETCH_NS, PERIOD_NS):
        sessions.hear(after, t_ns)
        other = a_session(t_ns)
        sessions.add(other, t_ns)
        sessions.hear(other, t_ns + 1000)
    assert sessions.leader is after
    assert sessions.leader is not walker


def test_an_end_is_followed_at_once(sessions, walker):
    """Protects the next trial: after an end its first frame leads."""
    after = a_session(10**9)
    sessions.add(after, 10**9)
    assert not sessions.end(walker, 10**9)
    sessions.hear(after, 10**9 + PERIOD_NS)
    assert sessions.leader is after


def test_a_session_now_and_then_gives_way_to_one_at_its_rate(walker):
    """Protects the walker who comes second, after a session of a frame now and then."""
    sessions, seldom = KnownSessions(), a_session(rate=0.0)
    sessions.add(seldom, 0)
    heard(sessions, seldom, 0, 10**9, 10 * STRETCH_NS)
    sessions.add(walker, 10**9)
    t_ns = 10**9
    while sessions.leader is seldom:
        sessions.hear(walker, t_ns)
        if t_ns % (10 * STRETCH_NS) == 0:
            sessions.hear(seldom, t_ns)
        t_ns += PERIOD_NS
    assert t_ns < 10**9 + 12 * STRETCH_NS


def test_two_that_alternate_do_not_take_turns_in_leading(sessions, walker):
    """Protects from turning round and round: of two that are alike the first one leads."""
    other = a_session(10**9)
    sessions.add(other, 10**9)
    for k in range(1000):
        t_ns = 10**9 + k * PERIOD_NS
        sessions.hear(other, t_ns)
        sessions.hear(walker, t_ns + 1000)
        assert sessions.leader is walker


def test_memory_of_descriptors_is_bounded(sessions, walker):
    """Protects memory: of sessions with large descriptors two are known, who leads and the newest."""
    for k in range(20):
        newest = a_session(10**9 + k, n_byte=MAX_PAYLOAD)
        sessions.add(newest, 10**9 + k)
        assert len(sessions) <= 2
    assert sessions.of(walker.session.session) is walker
    assert sessions.of(newest.session.session) is newest


def test_what_has_sent_frames_is_known_longer_than_what_has_not(sessions):
    """Protects a newcomer among a flood of descriptors: it has frames, they have none."""
    newcomer = a_session(10**9)
    sessions.add(newcomer, 10**9)
    sessions.hear(newcomer, 10**9)
    for k in range(100):
        sessions.add(a_session(10**9 + k), 10**9 + k)
    assert sessions.of(newcomer.session.session) is newcomer


def test_an_id_is_held_by_who_has_been_there_for_a_while(walker):
    """Protects the id of a session that goes on; one of a few frames may be replaced, as is written."""
    sessions = KnownSessions()
    sessions.add(walker, 0)
    heard(sessions, walker, 0, AHEAD * STRETCH_NS)
    assert not walker.holds(AHEAD * STRETCH_NS)
    heard(sessions, walker, AHEAD * STRETCH_NS, (AHEAD + 1) * STRETCH_NS)
    assert walker.holds((AHEAD + 1) * STRETCH_NS)
    assert not walker.holds((AHEAD + 1) * STRETCH_NS + SHORTEST_SILENCE_NS)
