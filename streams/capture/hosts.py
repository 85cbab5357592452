"""Check of the host name in a server's address: impossible names are refused before anything is opened.

An unknown name is accepted, as its computer may be switched on later.
"""

from __future__ import annotations

import ipaddress
import re

from streams.capture.records import CaptureError

LABEL = re.compile(r"(?!-)[^\W]([\w-]{0,61}[^\W])?", re.ASCII)
"""A part of a host name (RFC 1123), with the underscores that Windows allows."""
LONGEST = 253


def check_host(source: str, host: str) -> None:
    """Raise CaptureError for a host name that no server can have."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").split(".")
        if re.fullmatch(r"[0-9.]+", host):
            fault = (
                f"{host} is not an IPv4 address; it needs four numbers from 0 to 255 with dots between them"
            )
        elif len(host) > LONGEST or not all(LABEL.fullmatch(label) for label in labels):
            fault = f"{host!r} cannot be the name of a computer"
        else:
            return
        raise CaptureError("address", f"{source!r}: {fault}") from None
    if number.is_multicast:
        raise CaptureError(
            "address", f"{source!r}: {host} is a multicast group; give the address of the server's computer"
        )
    if number.is_unspecified or host == "255.255.255.255":
        raise CaptureError(
            "address", f"{source!r}: {host} is not the address of a single computer; give that of the server"
        )
