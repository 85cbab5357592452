"""Stages that count in something else than numbers."""

from __future__ import annotations

from collections import Counter

from rtsim.live.inputs.recorded import KeptResults
from rtsim.live.loop import Loop
from rtsim.stages.stage import Stage
from tests.rtsim.live.test_end_of_loop import NoFrames


class OddCounter(Stage):
    """A stage with a counter that is a text."""

    def collect(self):
        return Counter({"steps": 3, "odd": "x"}), []


def test_a_counter_that_is_no_number_ends_no_run() -> None:
    """Protects a run from a stage that counts in texts: the other counters are sent, a sentence names it."""
    output = KeptResults()
    loop = Loop(NoFrames(), [OddCounter()], output, {})
    loop._report()
    message = output.telemetry
    assert message is not None
    assert message.counters["steps"] == 3
    assert "odd" not in message.counters
    assert "The value of odd in the telemetry is not a number and is left out." in message.text
