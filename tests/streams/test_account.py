"""Telemetry messages of a program about itself: whatever its parts count, the message can be sent."""

from __future__ import annotations

import math

import numpy as np

from streams.account import Sentences, account
from streams.codec import decode, encode
from streams.messages import Telemetry


def test_numbers_of_other_types_are_sent_as_numbers() -> None:
    """Protects whoever watches a stage that counts in NumPy: its numbers come as whole and as real ones."""
    counters = {"frames": np.int64(7), "most": np.uint64(2**64 - 1), "seen": np.bool_(True)}
    gauges = {"delay_s": np.float32(0.5), "n": np.int32(3), "none": math.nan}
    message = decode(encode(account("", counters, gauges, Sentences(), 5)))
    assert isinstance(message, Telemetry)
    assert message.counters == {"frames": 7, "most": 2**63 - 1, "seen": 1}
    assert (message.gauges["delay_s"], message.gauges["n"]) == (0.5, 3.0)
    assert math.isnan(message.gauges["none"])


class NoNumber:
    """An object whose conversion to a number fails in its own way."""

    def __float__(self) -> float:
        raise RuntimeError("not now")


def test_what_is_no_number_is_left_out_and_named() -> None:
    """Protects a run from a part that counts in something else: the rest is sent, and a sentence names it."""
    counters = {"frames": 7, "ratio": math.nan, "lost": None}
    gauges = {"delay_s": 0.5, "pose": NoNumber(), "huge": 10**400}
    message = decode(encode(account("", counters, gauges, Sentences(), 5)))  # type: ignore[arg-type]
    assert isinstance(message, Telemetry)
    assert (message.counters, message.gauges) == ({"frames": 7}, {"delay_s": 0.5})
    assert len(message.text) == 4
    assert "The value of ratio in the telemetry is not a number and is left out." in message.text
