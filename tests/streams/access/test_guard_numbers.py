"""Connections whose file descriptors are used again, or for which no second one is free."""

import contextlib
import errno
import os
import resource
import socket
import subprocess
import sys

import pytest
import zmq

from streams.access.wire import ENOUGH_FILES, allow_enough_files, inode_of, turn_away
from streams.messages import marker_session
from streams.publisher import MOST_TOPICS, PREFIXES, Publisher
from tests.streams.access.test_guard import GUARD_S, LOCAL, frame, wire
from tests.streams.access.test_subscriber_count import come, publisher

__all__ = ["come", "publisher"]  # fixtures

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a connection received")


def test_an_event_of_an_earlier_connection_takes_no_subscriber_away(publisher, come, eventually):
    """Protects a subscriber that the guard saw under the event of a visitor whose descriptor it now has: the
    visitor's end and its own arrival are followed late.
    """
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    guard = publisher._bound.guard
    ((fd, connection),) = guard._connections.items()
    guard._follow(zmq.EVENT_DISCONNECTED, fd, publisher.address)
    assert publisher.n_subscriber == 0
    guard._follow(zmq.EVENT_ACCEPTED, fd, publisher.address)
    assert guard.connection(fd) is connection
    assert connection.kept
    assert publisher.n_subscriber == 1
    assert connection.look(1 << 20, 1) in (False, True)  # its new handle can be read
    guard._follow(zmq.EVENT_ACCEPTED, fd, publisher.address)  # the same without the end in between
    assert publisher.n_subscriber == 1


def test_a_later_connection_under_the_same_number_begins_with_nothing(publisher, come, eventually):
    """Protects the count: topics go over to the same connection only, never to the next with its number."""
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    guard = publisher._bound.guard
    ((fd, connection),) = guard._connections.items()
    guard._follow(zmq.EVENT_DISCONNECTED, fd, publisher.address)
    connection.inode += 1  # as if it had been another file
    guard._follow(zmq.EVENT_ACCEPTED, fd, publisher.address)
    assert guard.connection(fd) is not connection
    assert publisher.n_subscriber == 0


def test_without_a_free_descriptor_a_connection_is_turned_away(publisher, come, monkeypatch, eventually):
    """Protects memory: a connection that cannot be watched, as no more files may be opened, is closed and
    told, and the next one is served.
    """
    guard, dup, refused = publisher._bound.guard, os.dup, []

    def no_more(fd: int) -> int:
        refused.append(fd)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "dup", no_more)
    host, port = publisher.address.removeprefix("tcp://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), GUARD_S) as peer:
        while peer.recv(64):  # libzmq's greeting, then the end
            pass
    assert refused
    eventually(lambda: guard.n_cut == 1 and any("could open no more files" in one for one in guard.sentences))
    monkeypatch.setattr(os, "dup", dup)
    honest = come()
    eventually(lambda: honest.poll(0) or publisher.service() or publisher.n_subscriber == 1)


def test_only_a_connection_to_its_own_port_is_turned_away(tmp_path):
    """Protects other files of the program: what a descriptor stands for now is looked at before."""
    with (tmp_path / "file").open("w") as file:
        assert turn_away(file.fileno(), 1) is False
        file.write("still open")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as near, server.accept()[0] as far:
            assert turn_away(server.fileno(), port) is False  # it listens and has no peer
            assert turn_away(near.fileno(), port) is False
            near.sendall(b"x")
            assert far.recv(1) == b"x"
            assert turn_away(far.fileno(), port) is True
            assert near.recv(1) == b""
            assert inode_of(far.fileno())
    assert turn_away(-1, 1) is False


def test_open_files_are_allowed_up_to_what_the_system_permits():
    """Protects newcomers, an emergency stop among them, from a low usual limit of open files."""
    code = (
        "import resource, sys\n"
        "from streams.access.wire import allow_enough_files\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, int(sys.argv[1])))\n"
        "allow_enough_files()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))\n"
    )
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = {300: "300 300", 4100: "4096 4100"}
    for highest, expected in allowed.items():
        if before[1] not in (resource.RLIM_INFINITY,) and before[1] < highest:
            continue  # nobody but root may raise it
        told = subprocess.run(
            [sys.executable, "-c", code, str(highest)],
            capture_output=True,
            text=True,
            timeout=60.0,
            check=True,
        )
        assert told.stdout.strip() == expected
    assert before[0] == resource.RLIM_INFINITY or before[0] >= 1024
    allow_enough_files()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] in (before[0], ENOUGH_FILES, before[1])


def test_early_words_of_one_connection_push_out_nobody(publisher, come, monkeypatch, eventually):
    """Protects a newcomer that is not known yet beside a stranger with ever new topics: only published topics
    are kept, by connection, and their last word holds.
    """
    guard, known = publisher._bound.guard, publisher._bound.guard.connection
    monkeypatch.setattr(guard, "connection", lambda fd: None)
    monkeypatch.setattr("streams.publisher.EARLY_NS", 1 << 62)
    words = b"".join(frame(b"\x01%d" % n) for n in range(2 * MOST_TOPICS))
    with contextlib.closing(wire(publisher.address, b"SUB")) as stranger:
        come()
        stranger.sendall(words + frame(b"\x01end") + frame(b"\x00end"))
        eventually(
            lambda: (
                publisher.service() or sorted(len(one.wanted) for one in publisher._early.values()) == [1, 2]
            )
        )
        for early in publisher._early.values():
            assert set(early.wanted) <= PREFIXES
        monkeypatch.setattr(guard, "connection", known)
        assert publisher.wait_for_subscriber(GUARD_S)
        assert not publisher.is_heard("end")
        assert publisher.n_subscriber == 1


def test_early_words_are_judged_before_later_ones(publisher, monkeypatch, eventually):
    """Protects the order: who subscribes before it is known and cancels after it is no subscriber."""
    guard, known = publisher._bound.guard, publisher._bound.guard.connection
    monkeypatch.setattr(guard, "connection", lambda fd: None)
    with contextlib.closing(wire(publisher.address, b"SUB")) as peer:
        peer.sendall(frame(b"\x01session") + frame(b"\x01markers"))
        eventually(
            lambda: publisher.service() or [len(one.wanted) for one in publisher._early.values()] == [2]
        )
        monkeypatch.setattr(publisher, "_judge_early", lambda now: None)
        monkeypatch.setattr(guard, "connection", known)
        peer.sendall(frame(b"\x00markers") + frame(b"\x01end"))
        eventually(lambda: publisher.service() or publisher.is_heard("end"))
        assert not publisher._early
        assert publisher.n_subscriber == 0
        assert publisher.is_heard("session")


def test_descriptors_and_frames_are_counted_of_the_same_connection():
    """Protects the count: who hears descriptors alone, or frames alone, is no subscriber."""
    with Publisher(LOCAL) as publisher:
        publisher.announce(marker_session(["LASI"], rate=100.0, t_start=0))
        with (
            contextlib.closing(wire(publisher.address, b"SUB")) as one,
            contextlib.closing(wire(publisher.address, b"SUB")) as other,
        ):
            one.sendall(frame(b"\x01session"))
            other.sendall(frame(b"\x01markers"))
            while not (publisher.is_heard("session") and publisher.is_heard("markers")):
                publisher.service()
            assert publisher.n_subscriber == 0
            other.sendall(frame(b"\x01"))
            assert publisher.wait_for_subscriber(GUARD_S)


def test_the_newest_strangers_are_kept_and_looked_at_in_turns(publisher, monkeypatch):
    """Protects a newcomer among many that are not known yet, and the loop: one look takes few of them."""
    monkeypatch.setattr("streams.publisher.MOST_EARLY", 4)
    monkeypatch.setattr("streams.publisher.EARLY_AT_ONCE", 2)
    monkeypatch.setattr("streams.publisher.inode_of", lambda fd: 7)
    asked = []
    monkeypatch.setattr(publisher._bound.guard, "connection", asked.append)
    for fd in range(6):
        assert publisher._note_early((fd, 7), b"\x01session", "")
    assert [fd for fd, _ in publisher._early] == [2, 3, 4, 5]
    for _ in range(3):
        publisher.service()
    assert asked == [2, 3, 4, 5, 2, 3]
    assert [fd for fd, _ in publisher._early] == [4, 5, 2, 3]


def test_nobody_is_guilty_of_early_words_that_may_be_of_a_former_connection(publisher, come, monkeypatch):
    """Protects a newcomer under the number of one that is over: when the words were read counts, not when
    they are judged.
    """
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
    ((fd, connection),) = publisher._bound.guard._connections.items()
    connection.former_ns = publisher._drained_ns + 1
    for n in range(len(PREFIXES)):
        publisher._note_early((fd, connection.inode), b"\x01" + sorted(PREFIXES)[n], "key")
    publisher._drained_ns = connection.former_ns + 1
    publisher._judge_earlier(connection, fd)
    assert not connection.guilty
    assert connection.topics >= PREFIXES


def test_a_number_that_stands_for_nothing_is_nobodys_guilt(publisher, come):
    """Protects the next connection under a number: only without free descriptors is anybody turned away."""
    guard = publisher._bound.guard
    guard._accept(100_000, 1)
    assert guard.n_cut == 0
    come()
    assert publisher.wait_for_subscriber(GUARD_S)
