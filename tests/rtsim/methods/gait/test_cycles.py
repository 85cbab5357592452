"""Gait events that results show, cycles between events, and spatio-temporal values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from rtsim.files.gait.events import FILE, MARKERS, OFF, PLATES, STRIKE, GaitEvent
from rtsim.files.recording import Results
from rtsim.methods.gait import summary
from rtsim.methods.gait.cycles import cycle_values, cycles_of, spatio_temporal
from rtsim.methods.gait.found_events import by_markers, by_plates, found_events
from rtsim.methods.gait.summary import gait_of, in_sentences, recorded_with, used_of
from streams.messages import FieldSpec, Session, new_session_id

STRIDE_S, SPEED, DUTY, RATE = 1.1, 1.3, 0.62, 100.0
LENGTH = STRIDE_S * SPEED
SEGMENTS = ("pelvis", "foot_r", "foot_l")


def place(t: np.ndarray, begin: float) -> np.ndarray:
    """Where a foot is along the walk [m] that comes down at begin + k STRIDE_S: it stands, then swings."""
    phase = (t - begin) / STRIDE_S
    whole, part = np.floor(phase), phase - np.floor(phase)
    swing = np.clip((part - DUTY) / (1.0 - DUTY), 0.0, 1.0)
    return LENGTH * (whole + swing - np.sin(2.0 * np.pi * swing) / (2.0 * np.pi))


def walk(n: int = 600, heading: float = 0.6, loads: bool = False) -> Results:
    """A walk of both feet in a straight line at an angle to the room, the right one down at 0.2 s."""
    t = np.arange(n) / RATE
    along, across = (
        np.array([math.cos(heading), math.sin(heading)]),
        np.array([-math.sin(heading), math.cos(heading)]),
    )
    positions, rotations = np.zeros((n, 3, 3)), np.zeros((n, 3, 3, 3))
    rotations[:] = np.eye(3)
    rotations[:, 0] = [[along[0], 0.0, across[0]], [0.0, 1.0, 0.0], [along[1], 0.0, across[1]]]
    places = {0: SPEED * t, 1: place(t, 0.2), 2: place(t, 0.2 + 0.5 * STRIDE_S) + 0.5 * LENGTH}
    for k, offset in enumerate((0.0, 0.05, -0.05)):
        positions[:, k, [0, 2]] = places[k][:, None] * along + offset * across
        positions[:, k, 1] = 0.9 if k == 0 else 0.08
    phase = [((t - 0.2 - begin) / STRIDE_S) % 1.0 for begin in (0.0, 0.5 * STRIDE_S)]
    for k, part in enumerate(phase):
        positions[:, 1 + k, 1] += np.where(
            part > DUTY, 0.1 * np.sin(np.pi * (part - DUTY) / (1.0 - DUTY)), 0.0
        )
    fields = [
        FieldSpec("segment_positions", (3, 3), "m", SEGMENTS),
        FieldSpec("segment_rotations", (3, 3, 3), "1", SEGMENTS),
    ]
    values = {"segment_positions": positions, "segment_rotations": rotations}
    if loads:
        fields.append(FieldSpec("foot_forces", (2, 3), "N", ("right", "left")))
        force = np.zeros((n, 2, 3))
        for k, part in enumerate(phase):
            force[:, k, 1] = np.where((part < DUTY) & (t > 2.0) & (t < 4.0), 600.0, 0.0)
        values["foot_forces"] = force
    session = Session(
        session=new_session_id(),
        stream="result",
        t_start=0,
        rate=RATE,
        fields=tuple(fields),
        meta={"side": "both"},
    )
    return Results(session, values, t, np.zeros(n, np.int64))


def events_at(**times: list[float]) -> list[GaitEvent]:
    """Events by names such as right_strike."""
    kinds = {"strike": STRIKE, "off": OFF}
    return [
        GaitEvent(t, name.partition("_")[0], kinds[name.partition("_")[2]], "", FILE)
        for name, row in times.items()
        for t in row
    ]


def test_markers_tell_of_strikes_and_offs() -> None:
    """Protects events by the feet's places: once a stride, near where they were made, at any heading."""
    found = [e for e in by_markers(walk()) if e.time > 1.0]
    strikes = [e.time for e in found if (e.side, e.kind) == ("right", STRIKE)]
    expected = 0.2 + STRIDE_S * np.arange(1, 6)
    np.testing.assert_allclose(strikes, expected[: len(strikes)], atol=0.08)
    assert len(strikes) >= 4
    offs = [e.time for e in found if (e.side, e.kind) == ("left", OFF)]
    np.testing.assert_allclose(np.diff(offs), STRIDE_S, atol=0.01)


def test_plates_tell_of_what_they_bear() -> None:
    """Protects the time at which a load passes the threshold; a load that is there at once is no strike."""
    results = walk(loads=True)
    found = by_plates(results)
    right = [(round(e.time, 2), e.kind) for e in found if e.side == "right"]
    assert (2.4, STRIKE) in right
    assert any(kind == OFF and abs(time - (2.4 + DUTY * STRIDE_S)) < 0.02 for time, kind in right)
    cut = results._replace(fields={k: v[250:] for k, v in results.fields.items()}, times=results.times[250:])
    assert next(e.kind for e in by_plates(cut) if e.side == "right") == OFF


def test_a_foot_that_trembles_on_a_plate_comes_down_once() -> None:
    """Protects from a strike for every flicker of a load, and from events over gaps."""
    results = walk(loads=True)
    load = results.fields["foot_forces"]
    load[:, :, 1] = 0.0
    load[100:160, 0, 1] = 500.0
    load[102:104, 0, 1] = 0.0
    load[130, 0, 1] = np.nan
    assert [(round(e.time, 1), e.kind) for e in by_plates(results)] == [(1.0, STRIKE), (1.6, OFF)]


def test_plates_tell_nothing_of_what_is_missing() -> None:
    """Protects from events at made-up times where frames are missing, in the course of a trial or between its
    end and its next start; a few lost frames are interpolated."""
    results = walk(loads=True)
    results.fields["foot_forces"][:, :, 1] = 0.0
    results.fields["foot_forces"][100:300, 0, 1] = 500.0
    for lost, strikes in ((slice(80, 120), []), (slice(98, 103), [1.0])):
        kept = np.delete(np.arange(600), lost)
        fields = {name: rows[kept] for name, rows in results.fields.items()}
        cut = results._replace(fields=fields, times=results.times[kept], status=results.status[kept])
        found = [(round(e.time, 1), e.kind) for e in by_plates(cut)]
        assert found == [*((time, STRIKE) for time in strikes), (3.0, OFF)]


def test_plates_are_believed_before_markers() -> None:
    """Protects from the same event twice."""
    found = found_events(walk(loads=True))
    assert {e.by for e in found} == {PLATES, MARKERS}
    strikes = [e.time for e in found if (e.side, e.kind) == ("right", STRIKE)]
    assert min(np.diff(strikes)) > 0.9


def test_values_of_a_walk_that_is_known() -> None:
    """Protects names and definitions of the spatio-temporal values by the walk that was made."""
    begin = [0.2 + STRIDE_S * k for k in range(4)]
    events = events_at(
        right_strike=begin, right_off=[t + DUTY * STRIDE_S for t in begin],
        left_strike=[t + 0.5 * STRIDE_S for t in begin],
        left_off=[t + (DUTY - 0.5) * STRIDE_S for t in begin],
    )  # fmt: skip
    cycles = cycles_of(events)
    assert sum(c.side == "right" for c in cycles) == 3
    values = spatio_temporal(cycles, walk())["right"]
    assert values == pytest.approx(
        {
            "Cadence": 120.0 / STRIDE_S, "Walking Speed": SPEED, "Stride Time": STRIDE_S,
            "Step Time": 0.5 * STRIDE_S, "Opposite Foot Off": 12.0, "Opposite Foot Contact": 50.0,
            "Foot Off": 62.0, "Single Support": 0.38 * STRIDE_S, "Double Support": 0.24 * STRIDE_S,
            "Stride Length": LENGTH, "Step Length": 0.5 * LENGTH, "Step Width": 0.1,
        },
        rel=2e-3,
    )  # fmt: skip


def test_a_missing_strike_makes_no_double_stride() -> None:
    """Protects from strides of twice the length, where an event or the usual length shows them."""
    strikes = [0.2 + 1.1 * k for k in (0, 1, 2, 4, 5)]
    assert [c.strike for c in cycles_of(events_at(right_strike=strikes))] == pytest.approx([0.2, 1.3, 4.6])
    two = events_at(right_strike=[0.2, 2.4], left_strike=[0.7, 1.8])
    assert [c.side for c in cycles_of(two)] == ["left"]


def test_nobody_who_stands_has_cycles() -> None:
    """Protects from events of a person who stands, and of runs without a body."""
    results = walk()
    still = {k: np.repeat(v[:1], len(v), axis=0) for k, v in results.fields.items()}
    gait = gait_of(results._replace(fields=still), "walker")
    assert (gait.found, gait.cycles) == ((), ())
    (sentence,) = in_sentences(gait)
    assert sentence.startswith("no full stride was found")
    bare = results._replace(
        session=Session(session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=()), fields={}
    )
    assert in_sentences(gait_of(bare, "walker")) == []
    assert recorded_with(bare, gait).session == bare.session


def test_a_belt_has_no_lengths() -> None:
    """Protects from a stride length of nearly nothing on a treadmill."""
    results = walk(heading=0.0)
    positions = results.fields["segment_positions"]
    positions[..., 0] -= SPEED * results.times[:, None]
    cycles = cycles_of(events_at(right_strike=[0.2, 1.3], left_strike=[0.75]))
    assert "Stride Length" not in spatio_temporal(cycles, results)["right"]


def test_results_without_a_file_tell_why(tmp_path) -> None:
    """Protects a run whose recording is gone: events that were found are there, and a sentence."""
    gait = gait_of(walk(), tmp_path / "gone.c3d")
    assert gait.found
    assert "gait events of the recording were not read" in gait.notes[0]
    assert gait.lacking == gait.found
    assert recorded_with(walk(), gait).session.meta["gait_events"]


def test_recorded_events_are_those_of_the_run() -> None:
    """Protects an export from other events than the run's, as of plates that were of no use in it."""
    results = walk(loads=True)
    gait = gait_of(results, "walker", with_plates=False)
    assert {e.by for e in gait.found} == {MARKERS}
    again = gait_of(recorded_with(results, gait), "walker")
    assert again == gait
    odd = structs.replace(results.session, meta={"gait_events": [[1.0, "left"], "x"]})
    assert {e.by for e in gait_of(results._replace(session=odd), "walker").found} == {MARKERS, PLATES}


def test_plates_refine_what_the_file_tells_and_markers_fill_no_gaps_of_it() -> None:
    """Protects the order plates, file, markers: one event of each, and no strides that nobody marked."""
    told = events_at(right_strike=[1.0, 2.1], left_strike=[1.55])
    plate, marker = (told[0]._replace(time=1.01, by=PLATES), told[0]._replace(time=3.2, by=MARKERS))
    used = used_of(told, (plate, marker))
    assert [(e.time, e.by) for e in used] == [(1.01, PLATES), (1.55, FILE), (2.1, FILE)]
    few = used_of(told[:1], (plate, marker))
    assert [(e.time, e.by) for e in few] == [(1.01, PLATES), (3.2, MARKERS)]


def test_events_of_a_file_that_is_gone_are_those_that_were_recorded(tmp_path) -> None:
    """Protects a report made elsewhere: the descriptor keeps the events of the file."""
    results, told = walk(), tuple(events_at(right_strike=[1.0, 2.1]))
    gait = gait_of(results, "walker")._replace(told=told)
    again = gait_of(recorded_with(results, gait), tmp_path / "gone.c3d")
    assert [(e.time, e.side, e.kind) for e in again.told] == [(e.time, e.side, e.kind) for e in told]
    assert again.notes == ()


@pytest.mark.parametrize(
    "events",
    [
        {"right_strike": [0.0, 0.7], "right_off": [0.25], "left_strike": [0.35], "left_off": [0.60]},
        {"right_strike": [1.0, 2.0], "right_off": [1.6], "left_strike": [1.5], "left_off": [0.99, 1.99]},
    ],
)
def test_supports_are_those_of_walking(events: dict[str, list[float]]) -> None:
    """Protects from negative supports: in running, and where a foot off is marked before the strike."""
    cycle = next(c for c in cycles_of(events_at(**events)) if c.side == "right")
    values = cycle_values(cycle, {}, np.arange(3.0))
    for name in ("Single Support", "Double Support", "Opposite Foot Off"):
        assert math.isnan(values[name])
    assert values["Foot Off"] == pytest.approx(
        100.0 * (cycle.off - cycle.strike) / (cycle.end - cycle.strike)
    )


def test_an_opposite_foot_off_needs_no_strike() -> None:
    """Protects the opposite foot off of a stride during which the other foot is not seen to strike."""
    (cycle,) = cycles_of(events_at(right_strike=[0.0, 1.1], right_off=[0.66], left_off=[0.12]))
    assert cycle_values(cycle, {}, np.arange(3.0))["Opposite Foot Off"] == pytest.approx(10.909, abs=1e-3)


def test_of_very_many_events_none_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects long trials: readers find all events anew, instead of the first ones only."""
    results = walk()
    gait = gait_of(results, "walker")
    monkeypatch.setattr(summary, "MOST_RECORDED", len(gait.found) - 1)
    assert "gait_events" not in recorded_with(results, gait).session.meta
    assert gait_of(recorded_with(results, gait), "walker") == gait


def test_recorded_events_of_the_file_need_no_file() -> None:
    """Protects results whose file is not known: the strikes that somebody marked are still there."""
    results, told = walk(), tuple(events_at(right_strike=[1.0, 2.1]))
    kept = recorded_with(results, gait_of(results, "walker")._replace(told=told))
    assert [e.time for e in gait_of(kept, "").told] == [1.0, 2.1]
