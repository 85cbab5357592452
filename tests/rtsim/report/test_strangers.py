"""What strangers send, shown to a user: without escape codes, tracebacks or memory that grows."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from rich.console import Console

from rtsim.report.table import live_table, print_summary
from rtsim.report.tally import StreamSummary
from streams.messages import FieldSpec, Result, Session, Telemetry, new_session_id
from streams.publisher import Publisher
from streams.receiving.subscriber import Subscriber

LOCAL = "tcp://127.0.0.1:0"
GUARD_S = 120.0
CLEAR = "\x1b[2J"
LABELS = (CLEAR, "[/foo]", "\u202e")


def specs(*shape: int) -> tuple[FieldSpec, ...]:
    """The fields that the table shows, all of one shape."""
    names = ("joint_angles", "marker_weights", "marker_gap_age", "marker_swap_with", "marker_rms")
    return tuple(FieldSpec(name, shape, CLEAR, LABELS if shape and shape[0] == 3 else ()) for name in names)


def publish(publisher: Publisher, fields: tuple[FieldSpec, ...], value: float, statuses: list[int]) -> None:
    """Frames of a session of these fields, all of one value, and a telemetry."""
    meta = {"method": ["[/x]" + CLEAR] * 3, "subject": "s" * 10_000}
    id_ = new_session_id()
    publisher.announce(
        Session(session=id_, stream="result", t_start=0, rate=5e-324, fields=fields, meta=meta)
    )
    gauges = {"publish_us.max": 1.0, "receive_to_solve_us.max": math.nan, "marker_rms_mm": math.inf}
    text = ["[/foo]", CLEAR, "x" * 100_000]
    publisher.send(Telemetry(session="", t=0, counters={CLEAR: 1}, gauges=gauges, text=text))
    data = {spec.name: np.full(spec.shape, value).tobytes() for spec in fields}
    stamps = {"t_capture": 0, "t_received": 0, "t_solved": 0, "t_published": 0}
    for seq, status in enumerate(statuses):
        publisher.send(
            Result(
                session=id_, seq=seq, time=0.0, data=data, status=status, iterations=0, residual=math.nan,
                **stamps,
            )
        )  # fmt: skip


@pytest.fixture
def shown():
    """Publish frames over a socket; all that a terminal gets to see of them, and the tally."""

    def show(fields: tuple[FieldSpec, ...], value: float, statuses: list[int]) -> tuple[str, StreamSummary]:
        tally = StreamSummary()
        with (
            Publisher(LOCAL) as publisher,
            Subscriber(publisher.address, ("result", "telemetry"), backlog=1000) as results,
        ):
            publisher.wait_for_subscriber(GUARD_S)
            publish(publisher, fields, value, statuses)
            for _ in statuses:
                frame = results.wait(GUARD_S)
                assert frame is not None
                tally.take_frame(frame)
                tally.look_at(frame)
            while results.telemetry:
                tally.take_telemetry(results.telemetry.popleft())
        file = io.StringIO()
        console = Console(file=file, force_terminal=True, color_system=None, width=120)
        console.print(live_table(tally, "source"))
        print_summary(console, tally.summary())
        return file.getvalue(), tally

    return show


@pytest.mark.parametrize("shape", [(3,), (3, 1), (0,), (1,), (), (3, 0, 2)], ids=str)
@pytest.mark.parametrize("value", [0.5, math.nan, math.inf, 1e300])
def test_any_field_of_any_shape_is_shown_or_left_out(shown, shape, value):
    """Protects the table from fields of another shape, and the terminal from codes in labels and texts."""
    written, _ = shown(specs(*shape), value, [0])
    for code in (CLEAR, "\x1b]", "\u202e"):
        assert code not in written
    assert "1 frames" in written


def test_combinations_of_unknown_bits_do_not_fill_memory(shown):
    """Protects a long run from a sender that draws its status bits at random."""
    _, tally = shown(specs(3), 0.0, list(range(32, 32 * 300, 32)))
    assert len(tally.statuses) <= 33
    assert sum(tally.statuses.values()) == 299
