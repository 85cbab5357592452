"""Lab Streaming Layer: streams of markers of any sender, found by name, source_id or type."""

from __future__ import annotations

from streams.capture.lsl.connection import ANY, TYPE, LslConnection
from streams.capture.lsl.library import lsl
from streams.capture.records import CaptureError, FoundServer
from streams.capture.system import CaptureAddress, CaptureSystem


def check(address: CaptureAddress) -> None:
    """Raise CaptureError for names that streams cannot be searched for (quotation marks, XPath 1.0)."""
    for name in (address.host, *(address.options.get(key, "") for key in ("source_id", "forces"))):
        if "'" in name:
            raise CaptureError("address", f"{name!r} contains a quotation mark, so it cannot be searched for")


def find(timeout_s: float) -> list[FoundServer]:
    """Find streams of markers on this network; none if pylsl is missing."""
    try:
        streams = lsl().resolve_streams(min(timeout_s, 2.0))
    except CaptureError:
        return []
    return [
        FoundServer(
            f"lsl://{stream.name()}",
            f"{stream.type()}, {stream.channel_count()} channels, {stream.nominal_srate():g} Hz, "
            f"of {stream.hostname()}, source_id {stream.source_id() or '(none)'}",
        )
        for stream in streams
        if stream.type().casefold() == TYPE
    ]


SYSTEM = CaptureSystem(
    "lsl",
    "Lab Streaming Layer (streams of type Mocap)",
    0,
    LslConnection,
    find,
    default_host=ANY,
    usual_up="+Z",
    check=check,
    silence="is the sender of the stream measuring?",
    unseen="does the sender of the stream see the markers?",
    options={
        "source_id": "identifier of the stream, if several streams have the same name",
        "forces": "name of a stream with channels Fx to Mz of force plates",
    },
)
