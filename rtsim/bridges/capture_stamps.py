"""Times at which the input of a result frame was captured, on this machine's clock, for programs such as
Foxglove and LSL that compare them with other data by this clock.
"""

from __future__ import annotations

from streams.receiving.ring import ReceivedFrame

FRESH_NS = 1_000_000_000
"""A capture time longer ago, or after the receipt, is of another computer's clock and not used [ns]."""


def captured_ns(frame: ReceivedFrame) -> int:
    """Return the capture time of a frame on this machine's clock [ns]; if it is unknown, the time when the
    input was received, or else when the result arrived here.
    """
    stamp_ns = frame.t_capture
    if not 0 <= frame.t_received - stamp_ns < FRESH_NS:
        stamp_ns = frame.t_received
    if not 0 <= frame.t_arrived - stamp_ns < FRESH_NS:
        stamp_ns = frame.t_arrived
    return stamp_ns
