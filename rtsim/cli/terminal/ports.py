"""Network ports of a run: all moved by the same number on request, and checked to be free before slow work
such as compilation begins.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from rtsim.cli.terminal.types import AUTO, PortOffset
from rtsim.errors import ConfigError
from streams.access.security import Security
from streams.addresses import shifted
from streams.errors import AddressInUseError, StreamError

STEP = 10
"""Automatically chosen offsets are multiples of this number."""
N_TRIED = 100


def offset_option(auto: bool = True) -> Callable[..., Any]:
    """Return the command-line option --port-offset, a number that is added to the port numbers of a command.

    auto : whether the option also accepts the word auto, which chooses an offset at which all ports are free;
      only commands that open (bind) these ports themselves can do so
    """
    words = "Number that is added to every port that is not given on the command line" + (
        f"; {AUTO}: the first multiple of {STEP} at which all ports are free." if auto else "."
    )
    return click.option("--port-offset", type=PortOffset(auto), default=0, help=words)


def placed(given: Mapping[str, str | None], usual: Mapping[str, str], offset: int | str) -> dict[str, str]:
    """Return the address of each option: given ones unchanged, default ones shifted by the offset.

    ConfigError if two shifted addresses are equal, which no offset can change.
    """
    check_twins({option: address for option, address in usual.items() if not given.get(option)})
    if offset == AUTO:
        own = [address for option, address in usual.items() if not given.get(option)]
        offset = free_offset(own, [address for address in given.values() if address])
    return {
        option: given.get(option) or moved(option, address, int(offset)) for option, address in usual.items()
    }


def moved(option: str, address: str, offset: int) -> str:
    """Return a shifted address; ConfigError where the port would be invalid."""
    try:
        return shifted(address, offset)
    except StreamError as fault:
        raise ConfigError(str(fault), where=f"--port-offset {offset}" if offset else option) from fault


def free_offset(addresses: list[str], taken: Sequence[str] = ()) -> int:
    """Return the first multiple of STEP by which all these addresses can be shifted so that they are free
    and not reserved by another run.

    The shifted addresses stay reserved while the command runs.

    taken : further addresses of the run, which none of the shifted ones may equal
    """
    from streams.reservation import Reservation
    from streams.sockets import check_free

    for offset in range(0, STEP * N_TRIED, STEP):
        try:
            wanted = [shifted(address, offset) for address in addresses]
            if any(address in taken for address in wanted):
                continue
            claims = Reservation(wanted)
        except AddressInUseError:
            continue
        except StreamError as fault:
            raise ConfigError(str(fault), where="--port-offset") from fault
        try:
            for address in wanted:
                check_free(address)
        except StreamError as fault:
            claims.close()
            if isinstance(fault, AddressInUseError):
                continue
            raise ConfigError(str(fault), where="--port-offset") from fault
        click.get_current_context().call_on_close(claims.close)
        return offset
    raise ConfigError(
        f"at none of {N_TRIED} port offsets were all ports free",
        where="--port-offset",
        remedy="give other addresses",
    )


def check_twins(addresses: Mapping[str, str]) -> None:
    """Raise ConfigError for an address given to two options."""
    options = list(addresses)
    for k, option in enumerate(options):
        address = addresses[option]
        twins = [other for other in options[:k] if addresses[other] == address]
        if twins and not address.endswith((":0", ":*")):
            raise ConfigError(
                f"{address} is taken by {twins[0]} already",
                where=option,
                remedy=f"give {option} another port",
            )


@contextlib.contextmanager
def held(addresses: Iterable[str]) -> Iterator[None]:
    """Reserve the ports of tcp addresses within the `with` block, while kernels compile. They are bound
    without listening, so that clients that connect meanwhile try again. Addresses that cannot be bound are
    left out, as they are reported when they are needed.
    """
    with contextlib.ExitStack() as stack:
        for address in addresses:
            host, _, port = address.removeprefix("tcp://").rpartition(":")
            if address.startswith("tcp://") and port.isdigit() and port != "0":
                place = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                with contextlib.suppress(OSError):
                    place.bind(("" if host == "*" else host, int(port)))
        yield


def check_ports(addresses: Mapping[str, str], security: Security | None = None) -> None:
    """Raise ConfigError, naming the option and a remedy, for an address that cannot be bound now."""
    from streams.sockets import check_free

    check_twins(addresses)
    for option, address in addresses.items():
        try:
            check_free(address, security)
        except AddressInUseError as fault:
            raise ConfigError(
                f"{address} is in use, perhaps by another run",
                where=option,
                remedy=f"end that run, give another {option} (port 0: any free port), or leave {option} out "
                f"and give --port-offset {AUTO}",
            ) from fault
        except StreamError as fault:
            raise ConfigError(str(fault), where=option) from fault
