"""The table in the terminal and the closing lines, rendered to text."""

from __future__ import annotations

import pytest
from rich.console import Console

from rtsim.report.table import live_table, print_summary
from rtsim.report.tally import Tally
from streams.messages import Status, Telemetry


@pytest.fixture
def render():
    """Render something for a terminal of this width; its text."""

    def to_text(what, width: int = 120) -> str:
        console = Console(record=True, width=width, file=None, force_terminal=False, quiet=False)
        with console.capture() as captured:
            what(console) if callable(what) else console.print(what)
        return captured.get()

    return to_text


@pytest.fixture
def tally(make_frame, telemetry) -> Tally:
    """A run of 30 ok frames and two others."""
    tally = Tally()
    for index in range(30):
        tally.take_frame(make_frame(t_arrived=index * 10_000_000))
    tally.take_frame(make_frame(t_arrived=300_000_000, status=int(Status.LATE | Status.DEGRADED)))
    tally.take_frame(make_frame(t_arrived=310_000_000, status=int(Status.INVALID_INPUT)))
    tally.look_at(make_frame(marker_weights=[1.0, 0.5, 0.0, 1.0], marker_gap_age=[0.0, 0.0, 0.5, 0.0]))
    tally.take_telemetry(telemetry)
    return tally


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if all(word in line for word in words)]


def test_the_table_shows_the_essentials(render, tally):
    """Protects the picture of a run: what it is, rate, RMS, statuses, joints, latencies, counts."""
    text = render(live_table(tally, "walk.trc"))
    for words in (
        ("walk.trc", "minimised", "S01"),
        ("32 frames", "100.0 Hz", "marker RMS 4.3 mm", "ok 30", "late, degraded 1", "invalid_input 1"),
        ("hip flexion", "12.50", "deg"),
        ("knee flexion", "-60.00", "deg"),
        ("ACL", "5.00", "%"),
        ("knee proximal", "3.50", "mm"),
        ("receive to publish", "9", "10", "11", "12"),
        ("p50", "p99", "p99.9", "max"),
        ("lost", "2"),
        ("late", "3"),
    ):
        assert lines_with(text, *words), (words, text)


def test_the_table_names_doubtful_markers_and_says_what_happened(render, tally):
    """Protects the user: hidden and stray markers by name, sentences below."""
    text = render(live_table(tally, "walker"))
    assert "RKNE out of place (weight 0.50)" in text
    assert "RANK not seen for 0.50 s" in text
    assert "2 frames lost on the way here." in text


def test_brackets_are_no_markup(render, tally):
    """Protects sentences and names with brackets, which the terminal library would take for colours."""
    tally.take_telemetry(Telemetry(session="", t=2, text=["the field has shape [17, 3], not [bold]"]))
    tally.subject = "[red]Ann[/red]"
    text = render(live_table(tally, "[walk].trc"), 200)
    for words in ("[17, 3], not [bold]", "[red]Ann[/red]", "[walk].trc"):
        assert words in text


@pytest.mark.parametrize("width", [20, 80, 300])
def test_the_table_survives_any_terminal(render, tally, width):
    """Protects narrow and wide terminals: drawn, never an error, never wider than the terminal."""
    text = render(live_table(tally, "walker"), width)
    assert text
    assert max(len(line) for line in text.splitlines()) <= width


def test_the_table_of_nothing_is_drawn(render):
    """Protects the first moment of a run: no frame, no telemetry, no fields."""
    text = render(live_table(Tally(), "walker"))
    assert lines_with(text, "method -", "subject -")
    assert lines_with(text, "0 frames")


def test_an_account_without_some_latencies_is_drawn(render, make_frame):
    """Protects the table from an estimator that tells fewer figures."""
    tally = Tally()
    tally.take_telemetry(Telemetry(session="", t=1, gauges={"receive_to_publish_us.p50": 80.0}))
    tally.take_frame(make_frame(t_arrived=1))
    assert render(live_table(tally, "walker"))
    assert tally.summary()["frames"] == 1


def test_the_summary_says_how_it_went(render, tally):
    """Protects the closing lines: frames, losses, RMS, latencies, flags and faults."""
    text = render(lambda console: print_summary(console, tally.summary()))
    assert lines_with(text, "198 frames, 2 lost, 3 late, 0 skipped; marker RMS 4.21 mm (minimised)")
    assert lines_with(text, "receive to publish", "9", "10", "11", "12")
    assert lines_with(text, "flagged frames: late, degraded 1, invalid_input 1")
    assert lines_with(text, "counted: lost 2, late 3, duplicate 1")


def test_the_summary_of_a_clean_run_is_short(render, make_frame):
    """Protects against lines about nothing."""
    tally = Tally()
    tally.take_frame(make_frame(t_arrived=1))
    tally.take_telemetry(Telemetry(session="", t=1, counters={"published": 1, "received": 1}))
    text = render(lambda console: print_summary(console, tally.summary()))
    assert "flagged" not in text
    assert "counted" not in text


def test_the_summary_of_nothing_is_printed(render):
    """Protects a run that ended before its first frame."""
    assert "0 frames" in render(lambda console: print_summary(console, Tally().summary()))
