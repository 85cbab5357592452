"""Waiting for sockets in a process with many descriptors."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest

from streams.readable import readable

resource = pytest.importorskip("resource")
MANY = 1100


@pytest.fixture
def many() -> Iterator[None]:
    """More descriptors in use than `select.select` takes."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = MANY + 200
    if before[0] < enough:
        if before[1] != resource.RLIM_INFINITY and before[1] < enough:
            pytest.skip("the system does not grant so many descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, before[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(MANY):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many")
def test_sockets_are_heard_however_many_descriptors_there_are() -> None:
    """Protects relays and the emergency key: numbers from 1024 on are waited for like any other."""
    one, other = socket.socketpair()
    with one, other:
        assert one.fileno() >= 1024
        assert readable([one, other], 0.0) == []
        other.send(b"x")
        assert readable([one, other], 1.0) == [one]


def test_a_socket_that_is_closed_is_refused() -> None:
    """Protects from waiting for what will never come."""
    one, other = socket.socketpair()
    one.close()
    with other, pytest.raises(ValueError, match=r".+"):
        readable([one, other], 0.0)
