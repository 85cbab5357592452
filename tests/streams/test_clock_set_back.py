"""A clock that is set back, as none should be: nobody is cut off, nothing waits until it is made up."""

from __future__ import annotations

import socket
import sys
import threading

import pytest

from streams.access import crowd, guard
from streams.access.admission import PENALTY_NS, Admission
from streams.access.allow_list import AllowList
from streams.access.crowd import AcceptedConnection
from streams.access.key_files import create_keys
from streams.access.wire import Traffic
from streams.clock import is_over
from streams.control.tickets import Tickets
from streams.messages import marker_session
from streams.publisher import UPSTREAM, Publisher
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
