"""Free ports stay free until a program takes them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.free_ports import PORTS, free_port

GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.skipif(not GIVEN.exists(), reason="the system does not say which ports it gives")
def test_no_connection_is_given_a_free_port() -> None:
    """Protects tests of processes beside others: between choice and use no connection gets the port."""
    first, last = map(int, GIVEN.read_text().split())
    assert not set(PORTS) & set(range(first, last + 1))


def test_workers_with_one_seed_choose_ports_of_their_own() -> None:
    """Protects workers from each other: a seed that tests set does not choose the port."""
    found = set()
    for _ in range(20):
        random.seed(0)
        found.add(free_port())
    assert found <= set(PORTS)
    assert len(found) > 10
