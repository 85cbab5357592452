"""Reserves ports that a program will bind shortly, so that other runs do not choose them.

Seconds pass between finding a free port and binding it, in which another run may find it, too. The
reservation is a datagram socket on the same port number. The system grants that number to one program only,
and releases it when the program ends. A stream socket that is bound to it later does not conflict with the
reservation. A datagram socket would conflict, so the reservation is released just before one is bound.
"""

from __future__ import annotations

import socket

from streams.errors import AddressInUseError

_claims: dict[int, socket.socket] = {}


def is_claimed(port: int) -> bool:
    """Return whether this program has reserved a port."""
    return port in _claims


def release(port: int) -> None:
    """Release the reservation of one port; do nothing if there is none."""
    claim = _claims.pop(port, None)
    if claim is not None:
        claim.close()


class Reservation:
    """Reservations of the ports of tcp addresses, until `close`; AddressInUseError if another program has
    one.
    """

    def __init__(self, addresses: list[str]) -> None:
        self._ports: list[int] = []
        for address in addresses:
            port = address.rpartition(":")[2]
            if not address.startswith("tcp://") or not port.isdigit() or int(port) == 0:
                continue
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                claim.bind(("127.0.0.1", int(port)))
            except OSError as fault:
                claim.close()
                self.close()
                raise AddressInUseError(
                    f"another program has reserved {address} and is about to use it"
                ) from fault
            _claims[int(port)] = claim
            self._ports.append(int(port))

    def close(self) -> None:
        """Release all reservations."""
        for port in self._ports:
            release(port)
        self._ports.clear()
