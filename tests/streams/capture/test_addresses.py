"""Addresses of capture systems: their options are checked before anything is sent."""

from __future__ import annotations

import pytest

from streams.capture.records import CaptureError
from streams.capture.system import parse_capture, systems


def test_options_of_addresses_are_checked():
    """Protects against misspelt options, and network cards that this computer does not have."""
    with pytest.raises(CaptureError, match="mode"):
        parse_capture("natnet://127.0.0.1?Mode=unicast")
    with pytest.raises(CaptureError, match="is no address of this computer"):
        systems()["natnet"].open(parse_capture("natnet://127.0.0.1?interface=203.0.113.9"))
