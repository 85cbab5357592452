"""What a subscriber of the results counts and keeps for the table and the summary."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rtsim.report.tally import N_SENTENCE, StreamSummary, doubtful_markers
from streams.messages import FieldSpec, Status, Telemetry

NAMES = ("RASI", "RKNE", "RANK")


def test_frames_are_counted_by_their_status():
    """Protects the counts: each combination of flags by its name, the first arrival kept."""
    tally = StreamSummary()
    frame = type("Frame", (), {"data": {}})()
    for arrived, status in ((5, 0), (6, 0), (7, 3), (8, 4), (9, 256)):
        frame.t_arrived, frame.status = arrived, status
        tally.take_frame(frame)
    assert tally.n_frame == 5
    assert tally.first_result_ns == 5
    assert tally.statuses == {"ok": 2, "late, degraded": 1, "stale": 1, "unknown bits 0x100": 1}
    assert tally.summary()["usable"] == 4


def test_a_frame_without_a_marker_is_not_usable(make_frame):
    """Protects the exit code of a run in which nobody was seen, whatever the status says."""
    tally = StreamSummary()
    for rms in (np.nan, 0.004):
        frame = make_frame((FieldSpec("marker_rms", (), "m"),))
        frame.data["marker_rms"][...] = rms
        tally.take_frame(frame)
    assert tally.summary()["usable"] == 1


def test_the_rate_is_that_of_the_last_frames(make_frame):
    """Protects the rate: from arrivals, 0 while there are less than two or the clock stands still."""
    tally = StreamSummary()
    assert tally.rate == 0.0
    for index in range(300):
        tally.take_frame(make_frame(t_arrived=10**9 + index * 5_000_000))
        if index == 0:
            assert tally.rate == 0.0
    assert tally.rate == pytest.approx(200.0)
    still = StreamSummary()
    for _ in range(3):
        still.take_frame(make_frame(t_arrived=77))
    assert still.rate == 0.0


def test_values_are_in_the_units_people_read(make_frame):
    """Protects the table: degrees, millimetres and percent, by the labels of the descriptor."""
    tally = StreamSummary()
    tally.look_at(make_frame())
    expected = {
        "hip_flexion": (12.5, "deg"), "knee_flexion": (-60.0, "deg"),
        "knee lateral": (1.0, "mm"), "knee anterior": (-2.0, "mm"), "knee proximal": (3.5, "mm"),
        "ACL": (5.0, "%"), "PCL": (-1.2, "%"),
    }  # fmt: skip
    assert {label: unit for label, (_, unit) in tally.values.items()} == {
        k: u for k, (_, u) in expected.items()
    }
    for label, (value, _) in expected.items():
        assert tally.values[label][0] == pytest.approx(value), label
    assert tally.rms_mm == pytest.approx(4.3)
    assert (tally.method, tally.subject) == ("minimised", "S01")
    assert tally.doubtful == []


@pytest.mark.parametrize(
    "fields",
    [
        (),
        (FieldSpec("joint_angles", (3,), "rad"),),
        (FieldSpec("marker_weights", (3,), "1"), FieldSpec("marker_gap_age", (3,), "s"),
         FieldSpec("marker_swap_with", (3,), "1")),
        (FieldSpec("marker_rms", (), "m"), FieldSpec("marker_weights", (2,), "1", ("A", "B"))),
        (FieldSpec("ligament_lengthening", (0,), "1"), FieldSpec("something_new", (2, 2), "kg")),
    ],
    ids=["none", "no labels", "markers without names", "one number", "empty and unknown"],
)  # fmt: skip
def test_missing_fields_are_survived(make_frame, fields):
    """Protects the table from other estimators: absent fields and labels are left out, nothing fails."""
    tally = StreamSummary()
    tally.look_at(make_frame(fields, meta={}))
    assert tally.values == {}
    assert tally.doubtful == []
    assert tally.method == tally.subject == ""


def test_fields_that_went_away_are_no_longer_shown(make_frame):
    """Protects against old values after a new session with fewer fields."""
    tally = StreamSummary()
    tally.look_at(make_frame())
    tally.look_at(make_frame((FieldSpec("joint_angles", (1,), "rad", ("hip_flexion",)),)))
    assert list(tally.values) == ["hip_flexion"]


def doubts(weights, ages, partners, faults=(0, 0, 0)) -> list[str]:
    data = {
        "marker_weights": weights, "marker_gap_age": ages, "marker_swap_with": partners,
        "marker_fault": faults,
    }  # fmt: skip
    return doubtful_markers(NAMES, {name: np.array(values, float) for name, values in data.items()})


def test_doubtful_markers_are_told_in_words():
    """Protects the user: which marker is hidden, out of place or exchanged, and with which."""
    none = [-1, -1, -1]
    assert doubts([1, 1, 1], [0, 0, 0], none) == []
    assert doubts([0, 1, 1], [0.25, 0, 0], none) == ["RASI not seen for 0.25 s"]
    assert doubts([1, 0.4, 1], [0, 0, 0], none) == ["RKNE out of place (weight in the fit 0.40)"]
    assert doubts([1, 0, 1], [0, 0, 0], none, [math.nan, 2, 1]) == ["RKNE frozen", "RANK out of place"]
    assert doubts([1, 0, 0], [0, 0, 0], [-1, 2, 1]) == [
        "RKNE at the position of RANK",
        "RANK at the position of RKNE",
    ]


def test_a_partner_that_is_none_is_survived():
    """Protects against numbers that name no marker."""
    assert doubts([1, 1, 1], [0, 0, 0], [math.nan, 99, 3]) == []


def test_telemetry_is_kept_and_the_last_sentences(telemetry):
    """Protects the footer: the newest account, and no more sentences than there is room for."""
    tally = StreamSummary()
    for k in range(10):
        tally.take_telemetry(Telemetry(session="", t=k, text=[f"sentence {k}"]))
    tally.take_telemetry(telemetry)
    assert tally.counters["published"] == 198
    assert len(tally.sentences) == N_SENTENCE
    assert tally.sentences[-1] == "2 frames lost on the way here."


def test_the_summary_is_the_loops_own_account(make_frame, telemetry):
    """Protects --json: names, numbers and roundings that programs rely on."""
    tally = StreamSummary()
    for status in (Status.OK, Status.OK, Status.LATE):
        tally.take_frame(make_frame(t_arrived=7, status=int(status)))
    tally.look_at(make_frame())
    tally.take_telemetry(telemetry)
    summary = tally.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    figures = {key: summary[key] for key in ("frames", "lost", "skipped", "late", "method", "subject")}
    assert figures == {
        "frames": 198, "lost": 2, "skipped": 0, "late": 3, "method": "minimised", "subject": "S01"
    }  # fmt: skip
    assert summary["marker_rms_mm"] == 4.21
    assert summary["latency_us"]["receive_to_publish"] == {
        "p50": 9.0,
        "p99": 10.0,
        "p99_9": 11.0,
        "max": 12.0,
    }
    assert summary["statuses"] == {"ok": 2, "late": 1}
    assert summary["faults"] == {"lost": 2, "late": 3, "duplicate": 1}
    assert summary["first_result_ns"] == 7


def test_the_summary_of_nothing_is_valid_json():
    """Protects programs that read --json of a run without a frame: no NaN, which JSON does not know."""
    summary = StreamSummary().summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (summary["frames"], summary["marker_rms_mm"], summary["latency_us"]) == (0, None, {})


def test_angles_outside_their_ranges_are_named_and_counted(make_frame):
    """Protects the table and the summary: which angle, on how many frames."""
    names = ("hip_flexion", "knee_flexion")
    fields = tuple(
        FieldSpec(name, (2,), "rad", names) for name in ("joint_angles", "joint_angles_implausible")
    )
    tally = StreamSummary()
    for outside in ((0.0, 1.0), (0.0, 1.0), (0.0, 0.0)):
        frame = make_frame(fields)
        frame.data["joint_angles_implausible"][...] = outside
        frame.status = int(Status.IMPLAUSIBLE) if any(outside) else 0
        tally.take_frame(frame)
        tally.look_at(frame)
        assert tally.doubtful == ["knee_flexion outside the range of its joint"] * any(outside)
    assert tally.summary()["implausible"] == {"knee_flexion": 2}
