"""OptiTrack's Motive over NatNet: how it is found on a network, and how a connection to it is opened."""

from __future__ import annotations

from streams.capture.datagrams import arrivals, bound_socket
from streams.capture.natnet.connection import NatNetConnection
from streams.capture.natnet.messages import COMMAND_PORT, decode_server_info, discovery_message
from streams.capture.records import CaptureError, FoundServer
from streams.capture.system import CaptureAddress, CaptureSystem
from streams.clock import now_ns
from streams.errors import DecodeError

MODES = ("unicast", "multicast")


def check(address: CaptureAddress) -> None:
    """Raise CaptureError for an impossible server, mode or network card."""
    mode = address.options.get("mode", "unicast")
    if mode not in MODES:
        raise CaptureError("address", f"mode is {mode!r}; allowed: {' and '.join(MODES)}")
    if ":" in address.host:
        raise CaptureError(
            "address", f"{address.text}: NatNet supports only IPv4; give an address like 192.168.0.10"
        )
    if local := address.options.get("interface"):
        try:
            bound_socket(local).close()
        except CaptureError as fault:
            raise CaptureError("address", f"interface: {fault}") from fault


def find(timeout_s: float) -> list[FoundServer]:
    """Find the servers that answer to a broadcast, and one on this computer."""
    found: dict[tuple[str, int], FoundServer] = {}
    sock = bound_socket("", broadcast=True)
    try:
        for host in ("255.255.255.255", "127.0.0.1"):
            try:
                sock.sendto(discovery_message(), (host, COMMAND_PORT))
            except OSError:
                continue  # a computer without a network still has itself
        due_ns = now_ns() + int(timeout_s * 1e9)
        while (left_ns := due_ns - now_ns()) > 0:
            for datagram in arrivals([sock], left_ns * 1e-9):
                try:
                    info = decode_server_info(datagram.packet)
                except DecodeError:
                    continue
                version = ".".join(map(str, info.version))
                words = f"{info.application}, NatNet {version}"
                found[datagram.sender] = FoundServer(f"natnet://{datagram.sender[0]}", words)
    finally:
        sock.close()
    return list(found.values())


SYSTEM = CaptureSystem(
    "natnet",
    "OptiTrack Motive (NatNet 3.0 to 4.2)",
    COMMAND_PORT,
    NatNetConnection,
    find,
    usual_up="+Y",
    check=check,
    silence="is Motive live or playing, and does the firewall let UDP 1511 in (mode= and interface= "
    "choose another way)?",
    unseen="are Marker Sets and Labeled Markers switched on in Motive's streaming settings?",
    options={
        "mode": "unicast or multicast (default: as the server says)",
        "interface": "address of this computer's network card (default: the one that leads to the server)",
    },
)
