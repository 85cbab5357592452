"""Addresses of capture systems: all that can be wrong in one is told before anything is sent."""

from __future__ import annotations

import pytest

from streams.capture.records import CaptureError
from streams.capture.system import parse_capture

WRONG = {
    "natnet://127.0.0.1?Mode=unicast": "option 'Mode'",
    "natnet://127.0.0.1?mode=both": "mode is 'both'; allowed: unicast and multicast",
    "natnet://127.0.0.1?mode=": "no value for mode",
    "natnet://127.0.0.1?interface=203.0.113.9": "is no address of this computer",
    "natnet://127.0.0.1?interface=::1": "is no address of this computer",
    "natnet://127.0.0.1?interface=": "no value for interface",
    "natnet://239.255.42.99": "multicast group",
    "natnet://[::1]": "supports only IPv4",
    "natnet://0.0.0.0": "not the address of a single computer",
    "qtm://127.0.0.1?mode=unicast": "option 'mode'",
    "qtm://192.168.0": "four numbers",
    "qtm://192.168.0.256": "four numbers",
    "qtm://lab..local": "cannot be the name",
    "qtm://-lab": "cannot be the name",
    "qtm://lab?latency_ms=nan": "latency_ms",
    "qtm://lab?latency_ms=4&latency_ms=5": "twice",
    "qtm://lab?unnamed=2.5": "whole numbers",
    "vicon://lab:0": "1 to 65535",
    "vicon://lab:ds": "is not an address",
    "vicon://lab/subject": "more than a host and a port",
    "vicon://lab?units=feet": "allowed: m, cm, mm",
    "vicon://lab?force_sign=up": "check, person and plate",
    "vicon://lab?up=W": "allowed: X, Y, Z",
    "lsl://it's": "quotation mark",
    "lsl://any?forces=it's": "quotation mark",
    "lsl://any?source_id=": "no value for source_id",
}


@pytest.mark.parametrize("address", WRONG)
def test_what_cannot_be_is_refused_before_anything_is_opened(address):
    """Protects who has misspelt an address: it is told in one sentence, at once, and not tried for ever."""
    with pytest.raises(CaptureError, match=WRONG[address]) as caught:
        parse_capture(address)
    assert caught.value.final


@pytest.mark.parametrize(
    "address",
    ["qtm://QTM_PC", "qtm://lab.local.:22225?up=+Z", "vicon://[fe80::1]", "natnet://lab?interface=127.0.0.1",
     "natnet://10.0.0.1?mode=multicast", "lsl://my stream", "qtm://", "qtm://localhost/"],
)  # fmt: skip
def test_what_may_be_there_later_is_no_wrong_address(address):
    """Protects names of computers that are switched on later, and of streams of any name."""
    assert parse_capture(address).scheme == address.partition(":")[0]
