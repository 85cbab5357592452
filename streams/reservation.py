"""Ports that a program will bind in a moment, kept from others that look for free ones meanwhile.

Between a look and a bind lie seconds, in which another run may have looked as well. A datagram socket on the
same port number stands for the claim: the system gives it to one program alone, takes it back at its end, and
what is bound later, a stream socket, does not meet it. A datagram socket that is bound there later does: its
claim is released just before.
"""

from __future__ import annotations

import socket

from streams.errors import AddressInUseError

_claims: dict[int, socket.socket] = {}


def is_claimed(port: int) -> bool:
    """Whether this program has a claim on a port."""
    return port in _claims


def release(port: int) -> None:
    """Release one claim; nothing happens where there is none."""
    claim = _claims.pop(port, None)
    if claim is not None:
        claim.close()


class Reservation:
    """Claims on the ports of tcp addresses until `close`; AddressInUseError where another program has one."""

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
                raise AddressInUseError(f"{address} is about to be taken by another program") from fault
            _claims[int(port)] = claim
            self._ports.append(int(port))

    def close(self) -> None:
        """Release all claims."""
        for port in self._ports:
            release(port)
        self._ports.clear()
