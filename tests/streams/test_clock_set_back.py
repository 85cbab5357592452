"""A clock that is set back, as none should be: nobody is cut off, nothing waits until it is made up."""

from __future__ import annotations

import socket
import sys
import threading

import pytest

from rtsim.live.inputs.turns import LONGEST_TURN_NS, Turns
from streams.access import crowd, guard
from streams.access.admission import PENALTY_NS, Admission
from streams.access.allow_list import AllowList
from streams.access.allowance import MOST_NS, Allowance
from streams.access.crowd import AcceptedConnection
from streams.access.key_files import create_keys
from streams.access.wire import Traffic
from streams.clock import is_over
from streams.codec import FieldLayout, encode
from streams.control.tickets import Tickets
from streams.messages import marker_session
from streams.publisher import UPSTREAM, Publisher
from streams.receiving.intake import SHARE, Intake
from streams.receiving.known import KnownSession, KnownSessions
from streams.receiving.ring import Ring
from streams.receiving.subscriber import Subscriber

GUARD_S, HOUR_NS = 120.0, 3_600_000_000_000


@pytest.fixture
def clock(monkeypatch):
    """The clock of all that is bounded in time, a list of one number [ns]."""
    at = [2 * HOUR_NS]
    for module in ("access.crowd", "access.admission", "access.allow_list", "control.tickets", "publisher"):
        monkeypatch.setattr(f"streams.{module}.now_ns", lambda: at[0])
    return at


def test_a_span_is_over_where_the_clock_is_before_its_beginning():
    """Protects whatever comes once a second from a pause of an hour."""
    assert [is_over(100, 10, at) for at in (99, 100, 109, 110)] == [True, False, False, True]


def test_who_reads_is_not_cut_off(clock, monkeypatch):
    """Protects a subscriber of results: its allowance does not shrink by the hour that the clock lacks."""
    monkeypatch.setattr(crowd, "traffic", lambda wire: Traffic())
    with socket.socket() as wire:
        connection = AcceptedConnection(wire, UPSTREAM.burst)
        clock[0] -= HOUR_NS
        connection.look(UPSTREAM.burst, UPSTREAM.rate)
        assert not connection.guilty
        assert connection.left == UPSTREAM.burst


def test_newcomers_are_let_in_after_a_pause(clock):
    """Protects who connects: a pause of half a second after a flood does not last an hour."""
    admission = object.__new__(Admission)
    admission.pause()
    clock[0] -= HOUR_NS
    assert is_over(admission._closed_ns, PENALTY_NS, clock[0])


def test_a_ticket_does_not_live_longer(clock):
    """Protects from an old command: a ticket of before is good for nothing."""
    tickets = Tickets()
    ticket = tickets.issue(b"a")
    clock[0] -= HOUR_NS
    assert "came more than" in tickets.refusal("arm", ticket, b"a")


def test_who_is_taken_off_the_list_is_out(clock, tmp_path):
    """Protects a run from a key that was taken off its list: the list is looked at all the same."""
    for name in ("anna", "eve"):
        create_keys(tmp_path, name)
    listed = AllowList(tmp_path)
    (tmp_path / "eve.key").unlink()
    clock[0] -= HOUR_NS
    listed.refresh()
    assert [asker.name for asker in listed.askers.values()] == ["key anna"]


def test_the_descriptor_is_repeated(clock):
    """Protects who has lost a descriptor: it comes again, and every second from then on."""
    with Publisher("tcp://127.0.0.1:0") as publisher:
        publisher.announce(marker_session(("LASI",), rate=100.0, t_start=0))
        sent = []
        publisher._send_sessions = lambda: sent.append(clock[0])
        publisher.service()
        assert not sent
        clock[0] -= HOUR_NS
        publisher.service()
        assert sent


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")
def test_the_guard_goes_on_watching(monkeypatch):
    """Protects from floods after such a leap: connections are looked at as before."""
    at = [2 * HOUR_NS]
    monkeypatch.setattr(guard, "now_ns", lambda: at[0])
    looked = threading.Event()
    with Publisher("tcp://127.0.0.1:0") as publisher, Subscriber(publisher.address, ("markers",)):
        assert publisher.wait_for_subscriber(GUARD_S)
        monkeypatch.setattr(publisher._bound.guard, "_look", lambda: looked.set() or False)
        at[0] -= HOUR_NS
        assert looked.wait(GUARD_S)


def test_descriptors_of_others_are_read_again():
    """Protects a source that begins anew: what a flood had spent is earned on, not an hour later."""
    at = [2 * HOUR_NS]
    intake = Intake("markers", Ring(8), lambda: at[0], lambda: 0)
    intake.strangers.spend(2 * int(MOST_NS))
    at[0] -= HOUR_NS
    parts = encode(marker_session(["RASI"], rate=100.0, t_start=0))
    intake.accept(parts, at[0])
    assert intake.counters["put_off"] == 1
    at[0] += int(2.0 * MOST_NS / SHARE)
    intake.look_again(at[0])
    assert intake.strangers.affords()


def sessions_of(n: int, t_ns: int) -> tuple[KnownSessions, list[KnownSession]]:
    """Sessions that are known, without frames."""
    sessions = KnownSessions()
    made = [marker_session(["RASI"], rate=100.0, t_start=0) for _ in range(n)]
    known = [KnownSession(one, FieldLayout(one), one.session.encode(), t_ns) for one in made]
    for one in known:
        sessions.add(one, t_ns)
    return sessions, known


def test_a_new_source_is_followed_after_the_clock_was_set_back():
    """Protects who starts the source anew: the one that fell silent meanwhile does not lead for an hour."""
    sessions, (old, new) = sessions_of(2, 2 * HOUR_NS)
    for k in range(100):
        sessions.hear(old, 2 * HOUR_NS + k * 10_000_000)
    assert sessions.leader is old
    for k in range(100):
        sessions.hear(new, HOUR_NS + k * 10_000_000)
    assert sessions.leader is new


def test_who_leads_goes_on_leading_after_the_clock_was_set_back():
    """Protects the walker: frames of another session do not overtake as those of before count no longer."""
    sessions, (walker, other) = sessions_of(2, 2 * HOUR_NS)
    for k in range(100):
        sessions.hear(walker, 2 * HOUR_NS + k * 10_000_000)
    for k in range(500):
        sessions.hear(other, HOUR_NS + k * 10_000_000)
        sessions.hear(walker, HOUR_NS + k * 10_000_000 + 1000)
        assert sessions.leader is walker


def test_a_machine_that_slept_owes_no_hours():
    """Protects a source that begins anew: a sleep in the middle of a turn is not charged as work."""
    at = [HOUR_NS]
    turns = Turns(Allowance(0.25), lambda: at[0])
    turns.pay()
    at[0] += HOUR_NS
    turns.begin_waiting()
    turns.waited(at[0], at[0] + 4 * LONGEST_TURN_NS + 1)
    assert turns.allowance.affords()
