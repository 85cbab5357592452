"""The interface of a capture system: scheme and port of its addresses, how to find it, and how to open a
connection.

A new system is two files: a module in streams/capture/systems, where it is found by itself, whose `SYSTEM` is
a `CaptureSystem`, and one beside this module with its messages and their decoding.

The module is imported to learn the scheme of the system. So it must import packages other than NumPy only
when a connection is opened.

A connection is used by one thread. Its duties, beyond what its methods say:

- nothing that the server sends may raise anything but CaptureError, block longer than the timeout, or make
  memory grow: lengths and counts are checked before they are used, and invalid data that can be skipped are
  counted;
- frames that it received before a failure are handed over before the failure is raised;
- it asks again for descriptions as often as its protocol needs, so that a changed list is handed over within
  a second;
- it finds out within two seconds that its server is gone, and reports that by CaptureError.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from streams.addresses import LAST_PORT
from streams.capture.hosts import check_host
from streams.capture.records import (
    CaptureDescription,
    CaptureError,
    CaptureFrame,
    ClockPair,
    FoundServer,
)
from streams.capture.relay_options import RelayOptions


class CaptureAddress(NamedTuple):
    """The address of a capture system, scheme://HOST[:PORT][/NAME][?OPTION=VALUE&...], parsed and checked.

    host : the server, or the name of a stream
    port : the system's usual one if none is given
    options : options of the system or of the relay
    """

    scheme: str
    host: str
    port: int
    options: Mapping[str, str]

    @property
    def text(self) -> str:
        """Address as it is shown to users."""
        host = f"[{self.host}]" if ":" in self.host and self.port else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "")


class CaptureConnection(Protocol):
    """Interface of an open connection to a capture system."""

    def description(self) -> CaptureDescription:
        """Return the newest description of the stream."""

    def read(self, timeout_s: float) -> CaptureFrame | CaptureDescription | ClockPair | None:
        """Return the next received item, in order: a frame, a changed description, or a pair of clock
        readings.

        None after `timeout_s`. Raises CaptureError when the connection is lost.
        """

    def counters(self) -> Mapping[str, int]:
        """Return the counters since the connection was opened: refused_packets, and others of its
        protocol."""

    def gauges(self) -> Mapping[str, float]:
        """Return measured quantities of the connection by name, such as delays, for the telemetry."""

    def sentences(self) -> list[str]:
        """Return a few messages since the last call: events of the system and irregularities."""

    def close(self) -> None:
        """Disconnect as the protocol requires, without waiting; may be called more than once."""


def no_check(address: CaptureAddress) -> None:
    """Accept every address: for systems whose options are names of streams, which can only be checked on the
    network."""


class CaptureSystem(NamedTuple):
    """A capture system: how it is addressed, found and opened.

    scheme : scheme of its addresses, also its name on the command line
    words : a one-line description
    default_port, default_host : used if an address states none; port 0 = the system has no ports
    usual_up : the axis that points up if neither the system nor the person shows it
    open : opens a connection within five seconds, or raises CaptureError
    find : returns the servers that answer within a given time [s]; raises nothing but CaptureError
    options : option in addresses -> a one-line description
    silence : question that is shown to the user if a server responds but sends no frames
    unseen : question that is shown to the user if a server sends frames without a marker
    check : checks the values of an address before anything is opened; CaptureError for impossible ones
    """

    scheme: str
    words: str
    default_port: int
    open: Callable[[CaptureAddress], CaptureConnection]
    find: Callable[[float], list[FoundServer]]
    default_host: str = "127.0.0.1"
    usual_up: str = "+Z"
    options: Mapping[str, str] = {}
    silence: str = "is the system measuring, and is its streaming on?"
    unseen: str = "are the markers labelled in the capture system?"
    check: Callable[[CaptureAddress], None] = no_check


COMMON_OPTIONS: Mapping[str, str] = {
    "force_sign": "which forces the system sends: check (a person on the plates shows it, the default), "
    "person (on the person) or plate (on the plate)",
    "latency_ms": "least time from exposure to arrival, subtracted from t_capture "
    "(default: as the system reports it)",
    "up": "the axis that points up, where the system does not report it, or reports it wrongly (Y, Z, "
    "-X, ...)",
    "units": "the unit of length (m, cm or mm), where the system does not report it, or reports it wrongly",
    "unnamed": "number of rows for markers without a name, unnamed_1 and so on (default 0)",
}
"""Options of addresses that the relay itself obeys."""


FOLDERS = [str(Path(__file__).parent / "systems")]


@cache
def systems() -> Mapping[str, CaptureSystem]:
    """Return all capture systems by their scheme, from the modules in the folder."""
    names = sorted(module.name for module in pkgutil.iter_modules(FOLDERS))
    found = [import_module(f"streams.capture.systems.{name}").SYSTEM for name in names]
    return {system.scheme: system for system in found}


def is_capture(source: str) -> bool:
    """Return whether a source is the address of a capture system."""
    scheme, separator, _ = source.partition("://")
    return bool(separator) and scheme in systems()


def parse_capture(source: str) -> CaptureAddress:
    """Parse an address into its parts; CaptureError with the fault and the allowed values if it is
    invalid."""
    scheme, separator, rest = source.partition("://")
    if not separator or scheme not in systems():
        known = ", ".join(f"{name}://" for name in systems())
        raise CaptureError(
            "address", f"{source!r} is not the address of a capture system; they begin with {known}"
        )
    system = systems()[scheme]
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as fault:
        raise CaptureError("address", f"{source!r} is not an address: {fault}; {example(system)}") from fault
    host = rest.partition("?")[0]
    if system.default_port:
        host = parts.hostname or ""
        beyond = parts.path not in ("", "/") or parts.fragment
        if beyond or parts.username is not None or any(c.isspace() for c in host):
            raise CaptureError("address", f"{source!r} has more than a host and a port; {example(system)}")
    if port is not None and not (system.default_port and 1 <= port <= LAST_PORT):
        raise CaptureError("address", f"{source!r} has the port {port}; allowed: 1 to {LAST_PORT}")
    known_options = {**system.options, **COMMON_OPTIONS}
    options = dict(pairs)
    if unknown := sorted(options.keys() - known_options.keys()):
        raise CaptureError(
            "address",
            f"{source!r} has the option {unknown[0]!r}; allowed: {', '.join(sorted(known_options))}",
        )
    if len(options) < len(pairs):
        raise CaptureError("address", f"{source!r} gives an option twice")
    if blank := next((name for name, value in pairs if not value.strip()), None):
        raise CaptureError("address", f"{source!r} gives no value for {blank}; give one, or leave it out")
    if system.default_port and host:
        check_host(source, host)
    RelayOptions.of(options)
    address = CaptureAddress(scheme, host or system.default_host, port or system.default_port, options)
    system.check(address)
    return address


def example(system: CaptureSystem) -> str:
    """Return an example of a valid address."""
    host = "192.168.0.10" if system.default_port else "NAME"
    return f"give for example {system.scheme}://{host}"
