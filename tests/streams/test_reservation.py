"""Ports that are kept between a look and a bind."""

from __future__ import annotations

import click
import pytest

from rtsim.cli.terminal.ports import STEP, free_offset
from streams.errors import AddressInUseError
from streams.reservation import Reservation
from streams.sockets import check_free

ADDRESSES = ["tcp://127.0.0.1:29561", "tcp://127.0.0.1:29562"]


def test_what_is_reserved_is_nobody_elses_until_it_is_given_back() -> None:
    """Protects two runs that look for ports in the same second; a stream socket still finds its port free."""
    claims = Reservation([*ADDRESSES, "ipc:///tmp/somewhere", "tcp://127.0.0.1:0"])
    with pytest.raises(AddressInUseError):
        Reservation(ADDRESSES[1:])
    check_free(ADDRESSES[0])
    claims.close()
    Reservation(ADDRESSES).close()


def test_a_claim_that_fails_keeps_nothing() -> None:
    """Protects ports from a run that got only some of those that it wanted."""
    last = Reservation(ADDRESSES[1:])
    with pytest.raises(AddressInUseError):
        Reservation(ADDRESSES)
    Reservation(ADDRESSES[:1]).close()
    last.close()


def test_runs_side_by_side_get_offsets_of_their_own() -> None:
    """Protects `--port-offset auto`: the second takes the next one though nothing is bound yet."""
    one, two = click.Context(click.Command("live")), click.Context(click.Command("live"))
    with one, two.scope(cleanup=False):
        second = free_offset(ADDRESSES)
        with one.scope(cleanup=False):
            assert free_offset(ADDRESSES) == second + STEP
    two.close()
    with click.Context(click.Command("live")):
        assert free_offset(ADDRESSES) == second
