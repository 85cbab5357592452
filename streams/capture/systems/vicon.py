"""Vicon's Nexus, Tracker and Shogun over DataStream: how a connection is opened."""

from __future__ import annotations

from streams.capture.records import CaptureError, FoundServer
from streams.capture.system import CaptureAddress, CaptureSystem
from streams.capture.vicon.connection import ViconConnection

PORT = 801


def find(timeout_s: float) -> list[FoundServer]:
    """Find a server on this computer; Vicon servers do not answer to a broadcast."""
    address = CaptureAddress("vicon", "127.0.0.1", PORT, {})
    try:
        connection = ViconConnection(address)
    except CaptureError:
        return []
    n_marker = len(connection.description().names)
    connection.close()
    return [FoundServer(address.text, f"Vicon DataStream, {n_marker} markers")]


SYSTEM = CaptureSystem(
    "vicon",
    "Vicon Nexus, Tracker, Shogun (DataStream)",
    PORT,
    ViconConnection,
    find,
    usual_up="+Z",
    silence="is Nexus or Tracker live?",
    unseen="is a subject enabled and labelled live?",
)
