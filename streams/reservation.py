"""Ports that a program will bind in a moment, kept from others that look for free ones meanwhile.

Between a look and a bind lie seconds, in which another run may have looked as well. A datagram socket on the
same port number stands for the claim: the system gives it to one program alone, takes it back at its end, and
what is bound later, a stream socket, does not meet it.
"""

from __future__ import annotations

import socket

from streams.errors import AddressInUseError


class Reservation:
    """Claims on the ports of tcp addresses until `close`; AddressInUseError where another program has one."""

    def __init__(self, addresses: list[str]) -> None:
        self._claims: list[socket.socket] = []
        for address in addresses:
            port = address.rpartition(":")[2]
            if not address.startswith("tcp://") or not port.isdigit() or int(port) == 0:
                continue
            claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._claims.append(claim)
            try:
                claim.bind(("127.0.0.1", int(port)))
            except OSError as fault:
                self.close()
                raise AddressInUseError(f"{address} is another program's in a moment") from fault

    def close(self) -> None:
        """Give all claims back."""
        for claim in self._claims:
            claim.close()
        self._claims.clear()
