"""Errors of streams: bad settings raise StreamError, bad bytes raise DecodeError."""

from __future__ import annotations

from typing import Literal

DecodeReason = Literal["oversize", "bad_topic", "bad_version", "bad_type", "malformed"]


class StreamError(ValueError):
    """Raised for a bad address, key, file or argument; the text is one sentence fit to be shown to a user."""


class DecodeError(StreamError):
    """Raised for a message that cannot be decoded.

    Parameters
    ----------
    reason : short code: "oversize", "bad_topic", "bad_version", "bad_type" or "malformed"
    text : one plain sentence with the details
    """

    def __init__(self, reason: DecodeReason, text: str) -> None:
        super().__init__(text)
        self.reason: DecodeReason = reason


class ManyPartsError(StreamError):
    """Raised for a message of more parts than its receiver reads; the socket must not be read any more."""


class AddressInUseError(StreamError):
    """Raised for an address that another program uses."""
