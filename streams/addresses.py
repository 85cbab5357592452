"""Addresses of the protocol: tcp://HOST:PORT, ipc://PATH or inproc://NAME.

libzmq would read port 80000 as 14464 (16 bits) and "5560x" as 5560; both are refused here.
"""

from __future__ import annotations

from streams.errors import StreamError

LAST_PORT = 65_535
EXAMPLE = "tcp://127.0.0.1:5560"


def is_stream(source: str) -> bool:
    """Return whether a source is an address rather than a file."""
    return "://" in source


def check_address(address: str, binding: bool = False) -> None:
    """Raise StreamError with the reason for an invalid address.

    binding : whether the address is used to bind a socket; port 0 or * is then valid and takes a free port
    """
    scheme, separator, rest = address.partition("://")
    if not separator or scheme not in ("tcp", "ipc", "inproc") or not rest:
        raise StreamError(f"{address!r} is not an address; give for example {EXAMPLE}")
    if scheme != "tcp":
        return
    host, colon, port = rest.rpartition(":")
    if not colon or not host or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise StreamError(f"{address!r} has no host or no port; give for example {EXAMPLE}")
    if any(letter.isspace() or letter in "/;" for letter in host):
        raise StreamError(f"{address!r} has no proper host; give for example {EXAMPLE}")
    if binding and port == "*":
        return
    first = 0 if binding else 1
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= len(str(LAST_PORT)) else -1
    if not first <= number <= LAST_PORT:
        raise StreamError(
            f"{address!r} has the port {port!r}; ports are {first} to {LAST_PORT}, as in {EXAMPLE}"
        )


def is_here(address: str) -> bool:
    """Return whether an address can only be reached from this machine, apart from tunnels and port
    forwarding."""
    host = address.removeprefix("tcp://").rpartition(":")[0]
    return not address.startswith("tcp://") or host in ("localhost", "[::1]") or host.startswith("127.")


def shifted(address: str, offset: int) -> str:
    """Return the address with `offset` added to its port. Addresses with port 0, which stands for any free
    port, and addresses without a port stay unchanged.

    Raises StreamError if the new port would be invalid.
    """
    check_address(address, binding=True)
    host, _, port = address.rpartition(":")
    if not address.startswith("tcp://") or port in ("0", "*") or not offset:
        return address
    moved = f"{host}:{int(port) + offset}"
    check_address(moved)
    return moved
