"""The table in the terminal and the closing lines, rendered to text."""

from __future__ import annotations

import pytest
from rich.console import Console

from rtsim.report.table import latencies, live_table, print_summary
from rtsim.report.tally import N_TOLD, StreamSummary
from streams.messages import FieldSpec, Status, Telemetry

MARKER_FIELDS = ("weights", "gap_age", "swap_with")


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
def tally(make_frame, telemetry) -> StreamSummary:
    """A run of 30 ok frames and two others."""
    tally = StreamSummary()
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
    assert "RKNE out of place (weight in the fit 0.50)" in text
    assert "RANK not seen for 0.50 s" in text
    assert "2 frames lost on the way here." in text


def test_brackets_are_no_markup(render, tally):
    """Protects sentences and names with brackets, which the terminal library would take for colours."""
    tally.take_telemetry(Telemetry(session="", t=2, text=["the field has shape [17, 3], not [bold]"]))
    tally.subject = "[red]Ann[/red]"
    text = render(live_table(tally, "[walk].trc"), 200)
    for words in ("[17, 3], not [bold]", "[red]Ann[/red]", "[walk].trc"):
        assert words in text


def test_latencies_have_their_unit(render, tally):
    """Protects the head of the latencies: [us] is a unit, not a colour, in the table and in the summary."""
    for text in (
        render(live_table(tally, "walker")),
        render(lambda console: print_summary(console, tally.summary())),
    ):
        assert lines_with(text, "latency [us]", "p50", "p99.9", "max")


STRANGE = ("[bold]x[/bold]", "[/]", "[17, 3]", ":cat:", "[link=http://a]b[/link]", "a\\[b]", "[us]", "@click")


@pytest.mark.parametrize("name", STRANGE)
def test_names_are_shown_as_they_are(render, make_frame, name):
    """Protects every place where a name stands: joints, markers, method, subject, source, counters."""
    fields = (
        FieldSpec("joint_angles", (1,), "rad", (name,)),
        *(FieldSpec(f"marker_{kind}", (4,), "1", (name, "A", "B", "C")) for kind in MARKER_FIELDS),
    )
    frame = make_frame(fields, {"method": name, "subject": name}, marker_weights=[0.5, 1.0, 1.0, 1.0])
    frame.data["marker_swap_with"][...] = -1.0
    tally = StreamSummary()
    tally.take_frame(frame)
    tally.look_at(frame)
    tally.take_telemetry(Telemetry(session="", t=1, counters={name: 7}, text=[f"about {name}"]))
    text = render(live_table(tally, name), 300)
    for words in (f"  {name}  method {name}", f"subject {name}", f"{name} out of place", f"about {name}"):
        assert words in text
    assert lines_with(text, name, "0.00", "deg")
    text = render(lambda console: print_summary(console, tally.summary()), 300)
    assert f"({name})" in text
    assert f"counters of the run: {name} 7" in text


def test_control_characters_are_shown_not_obeyed(render, make_frame):
    """Protects the terminal: a name that clears the screen or rings is written with its codes."""
    name = "\x1b[2Ja\x07\u202eb"
    frame = make_frame((FieldSpec("joint_angles", (1,), "rad", (name,)),), {"method": name})
    tally = StreamSummary()
    tally.look_at(frame)
    text = render(live_table(tally, name), 300)
    assert not set("\x1b\x07\u202e") & set(text)
    assert text.count(r"\x1b[2Ja\x07\u202eb") == 3


@pytest.mark.parametrize("width", [20, 80, 300])
def test_the_table_survives_any_terminal(render, tally, width):
    """Protects narrow and wide terminals: drawn, never an error, never wider than the terminal."""
    text = render(live_table(tally, "walker"), width)
    assert text
    assert max(len(line) for line in text.splitlines()) <= width


def test_the_table_of_nothing_is_drawn(render):
    """Protects the first moment of a run: no frame, no telemetry, no fields."""
    text = render(live_table(StreamSummary(), "walker"))
    assert lines_with(text, "method -", "subject -")
    assert lines_with(text, "0 frames")


def test_an_account_without_some_latencies_is_drawn(render, make_frame):
    """Protects the table from an estimator that tells fewer figures."""
    tally = StreamSummary()
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
    assert lines_with(text, "counters of the run: lost 2, late 3, duplicate 1")


def test_choices_stand_beside_the_method(render, make_frame):
    """Protects who compares two runs of one config: head and closing lines say which choice was taken."""
    tally = StreamSummary()
    frame = make_frame()
    frame.session.meta["chosen"] = ["joint=fdk"]
    tally.take_frame(frame)
    tally.look_at(frame)
    assert "minimised (joint=fdk)" in render(live_table(tally, "walker"))
    assert "minimised (joint=fdk)" in render(lambda console: print_summary(console, tally.summary()))
    assert tally.summary()["chosen"] == ["joint=fdk"]


def test_a_flag_that_is_told_is_not_counted_again(render, tally):
    """Protects the closing lines from saying one thing twice."""
    told = tally.summary() | {"statuses": {"ok": 5, "suspect": 2, "uncertain, suspect": 1}}
    told["faults"] = {"suspect": 3, "uncertain": 4}
    text = render(lambda console: print_summary(console, told))
    assert lines_with(text, "counters of the run: uncertain 4")


def test_the_summary_of_a_clean_run_is_short(render, make_frame):
    """Protects against lines about nothing."""
    tally = StreamSummary()
    tally.take_frame(make_frame(t_arrived=1))
    tally.take_telemetry(Telemetry(session="", t=1, counters={"published": 1, "received": 1}))
    text = render(lambda console: print_summary(console, tally.summary()))
    assert "flagged" not in text
    assert "counted" not in text


def test_the_summary_of_nothing_is_printed(render):
    """Protects a run that ended before its first frame."""
    assert "0 frames" in render(lambda console: print_summary(console, StreamSummary().summary()))


def test_addresses_and_what_was_told_are_there(render, make_frame):
    """Protects who comes back to a finished run: where from, and every different sentence, once."""
    tally = StreamSummary()
    meta = {"method": "zero", "subject": "S01", "side": "left", "markers": "tcp://a:1", "forces": "tcp://b:2"}
    frame = make_frame(meta=meta)
    tally.take_frame(frame)
    tally.look_at(frame)
    for t in range(3):
        tally.take_telemetry(
            Telemetry(session="", t=t, text=["2 frames lost on the way here.", f"sentence {t}"])
        )
    text = render(live_table(tally, "walk.trc"), 200)
    assert lines_with(text, "markers at tcp://a:1", "forces at tcp://b:2")
    assert "side left" in text
    summary = tally.summary()
    assert summary["told"] == ["2 frames lost on the way here.", "sentence 0", "sentence 1", "sentence 2"]
    text = render(lambda console: print_summary(console, summary), 200)
    assert text.count("note: 2 frames lost on the way here.") == 1
    assert lines_with(text, "(zero, left)")


def test_a_stranger_cannot_flood_the_summary() -> None:
    """Protects memory and terminal: so many different sentences are kept, fewer are printed."""
    tally = StreamSummary()
    for t in range(100):
        tally.take_telemetry(Telemetry(session="", t=t, text=[f"{t} {k}" for k in range(60)]))
    assert len(tally.summary()["told"]) == N_TOLD


@pytest.mark.parametrize("width", [100, 40, 30, 20])
def test_numbers_are_never_shortened(render, width):
    """Protects narrow terminals from numbers without their last digits, which look like smaller ones: names
    are broken, and numbers stand below each other with their heads."""
    table = latencies({"receive_to_publish": {"p50": 1234567.0, "p99": 2345678.0, "p99_9": 3e6, "max": 4e6}})
    table.add("lost", "98765432")
    text = render(table, width)
    for number in ("1234567", "2345678", "3000000", "4000000", "98765432"):
        assert len([word for word in text.replace(",", " ").split() if word == number]) == 1
    assert all(len(line) <= width for line in text.splitlines())
    assert "latency [us]" in text
    assert "\u2026" not in text
