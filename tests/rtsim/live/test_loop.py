"""The live loop over real sockets: what goes in comes out, in order, stamped, flagged and commanded."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from rtsim.live.loop import Loop
from rtsim.live.processes.thread_priority import may_have_priority
from streams.clock import now_ns
from streams.codec import FieldLayout
from streams.messages import Status
from streams.publisher import Publisher
from streams.recording.player import MarkerFrames, play

GUARD_S = 120.0
LOCAL = "tcp://127.0.0.1:0"
STALE = int(Status.STALE)


def fresh(seen) -> bool:
    """Not a repetition of an old result."""
    return not seen.status & STALE


def statuses(seen) -> list[int]:
    return [result.status for result in seen if fresh(result)]


def test_a_played_trial_comes_out_frame_by_frame(start, trial, make_session):
    """Protects the chain with its own player: every frame, in order, stamps and values right, none lost."""
    session = make_session(rate=trial.rate)
    with Publisher(LOCAL) as publisher:
        run = start(address=publisher.address)
        player = threading.Thread(
            target=play,
            args=(publisher, session, MarkerFrames(trial.times, trial.positions), 4.0),
            kwargs={"wait_s": GUARD_S},
        )
        player.start()
        seen = run.finish()
        player.join()
    results = [result for result in seen if fresh(result)]
    assert [result.seq for result in seen] == list(range(len(seen)))
    assert [result.time for result in results] == pytest.approx(trial.times.tolist())
    for result, positions in zip(results, trial.positions, strict=True):
        assert result.t_capture <= result.t_received <= result.t_solved <= result.t_published
        assert not result.status & ~int(Status.LATE)
        assert result.iterations > 0
        assert 0.0 <= result.residual < 1e-10
        np.testing.assert_array_equal(result.data["markers_measured"], positions)
        assert result.data["marker_rms"][0] < 0.012
    assert run.final.counters["published"] == run.final.counters["received"] == len(trial.times)
    assert run.final.counters["lost"] == run.final.counters["skipped"] == 0


@pytest.mark.parametrize("first", [True, False])
def test_a_run_that_goes_first_says_so(start, trial, make_session, first):
    """Protects who reads late frames: the telemetry says whether the run goes before ordinary programs."""
    run = start(first=first)
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.source.end()
    run.finish()
    assert ("has_priority" in run.final.gauges) == (first and may_have_priority())


def test_the_descriptor_comes_before_the_frames_and_fits_them(start, trial, make_session):
    """Protects readers: names, units and meta of the run, and frames of the shapes it says."""
    run = start()
    run.source.begin(make_session(rate=1.0))
    run.source.send(trial.positions[0])
    run.source.end()
    (result,) = [seen for seen in run.finish() if fresh(seen)]
    described = result.session
    assert (described.stream, described.rate) == ("result", 1.0)
    expected = {
        "model": "lower_limb",
        "source": "test",
        "up": "Y",
        "method": "minimised",
        "subject": "walker",
    }
    assert {key: described.meta[key] for key in expected} == expected
    assert set(FieldLayout(described).specs) == set(result.data)
    assert described.session != run.source.session.session


def test_a_frame_that_takes_longer_than_its_period_is_late(start, trial, make_session):
    """Protects whoever controls something: a result after its time is flagged and counted."""
    run = start()
    run.source.begin(make_session(rate=1e6))
    for positions in trial.positions[:5]:
        run.source.send(positions)
    run.source.end()
    seen = run.finish()
    assert statuses(seen) == [int(Status.LATE)] * 5
    assert run.final.counters["late"] == 5


def test_occlusion_is_flagged_and_recovers(start, trial, make_session):
    """Protects gaps of shank and foot: flagged while they last, ok with the first whole frame."""
    run = start()
    run.source.begin(make_session())
    for index in range(40):
        positions = trial.positions[index].copy()
        if 10 <= index < 25:
            positions[9:] = np.nan
        run.source.send(positions)
    run.source.end()
    seen = [result for result in run.finish() if fresh(result)]
    expected = [int(Status.DEGRADED if 10 <= index < 25 else Status.OK) for index in range(40)]
    assert statuses(seen) == expected
    ages = [result.data["marker_gap_age"][10] for result in seen]
    assert ages[24] == pytest.approx(0.15)
    assert ages[25] == 0.0
    assert np.isnan(seen[12].data["markers_measured"][9:]).all()
    assert run.final.counters["degraded"] == 15


def test_the_method_is_switched_by_command(start, trial, make_session):
    """Protects the switch in mid-run: answered in words, told in a new result session, solved at once."""
    run = start()
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.read(1, fresh)
    for index, method in enumerate(("zero", "prescribed", "minimised"), start=1):
        ok, answer = run.ask("set_method", method=method)
        assert ok
        assert method in answer
        run.source.send(trial.positions[index])
        run.read(index + 1, fresh)
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert [result.session.meta["method"] for result in results] == [
        "minimised",
        "zero",
        "prescribed",
        "minimised",
    ]
    assert [result.time for result in results] == pytest.approx([0.0, 0.01, 0.02, 0.03])
    assert len({result.session.session for result in results}) == 4
    assert statuses(results) == [0] * 4
    # the methods differ: `zero` keeps the ligaments' length, the others do not
    acl = [result.data["ligament_lengthening"][0] for result in results]
    assert len(set(acl)) == 4


def test_what_cannot_be_done_is_refused_in_words(start, trial, make_session):
    """Protects the user of a command: what was wrong and what there is, and the run goes on."""
    run = start()
    assert run.ask("status") == (True, "Method minimised, 0 frames published, 0 late, 0 degraded.")
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.read(1, fresh)
    assert run.ask("set_method", method="best") == (
        False,
        "There is no method 'best'; this run offers minimised, zero, prescribed.",
    )
    for method, on in (({}, {}), ({"method": 3}, {"on": "perhaps"})):
        assert run.ask("set_method", **method)[0] is False
        ok, answer = run.ask("set_downweighting", **on)
        assert not ok
        assert "true or false" in answer
    for name, known in (("set_method", "accepts only method"), ("status", "takes no arguments")):
        ok, answer = run.ask(name, method="zero", x=1, y=2)
        assert not ok
        assert known in answer
        assert "x, y." in answer
    ok, answer = run.ask("dance")
    assert not ok
    assert "set_method, set_downweighting, status, stop" in answer
    ok, answer = run.ask("status")
    assert ok
    assert "Method minimised, 1 frames published" in answer
    run.source.send(trial.positions[1])
    run.source.end()
    assert statuses(run.finish()) == [0, 0]


@pytest.mark.parametrize(("on", "off"), [(True, False), ("on", "off"), ("true", "False"), (1, 0), ("1", "0")])
def test_down_weighting_is_switched_by_command(start, trial, make_session, on, off):
    """Protects the switch from every spelling: a stray marker loses its weight, keeps it, loses it again."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:40]:
        run.source.send(positions)
    run.read(40, fresh)
    weights = []
    for index, switch in enumerate((on, off, on), start=40):
        ok, answer = run.ask("set_downweighting", on=switch)
        assert ok
        assert ("only reported" in answer) == (switch == off)
        stray = trial.positions[index].copy()
        stray[7] += 0.3
        run.source.send(stray)
        weights.append(run.read(index + 1, fresh)[-1].data["marker_weights"][7])
    run.source.end()
    run.finish()
    assert weights[0] < 1.0
    assert weights[1] == 1.0
    assert weights[2] < 1.0


def test_a_restarted_source_is_followed(start, trial, make_session):
    """Protects a restart with other marker order and unit: a new result session, no jump in the angles."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:10]:
        run.source.send(positions)
    order = np.random.default_rng(0).permutation(len(trial.names))
    run.source.begin(make_session(tuple(trial.names[m] for m in order), unit="mm"))
    for positions in trial.positions[10:20]:
        run.source.send(1000.0 * positions[order])
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    assert statuses(results) == [0] * 20
    assert len({result.session.session for result in results}) == 2
    angles = np.degrees([result.data["joint_angles"] for result in results])
    assert np.abs(np.diff(angles, axis=0)).max() < 5.0
    np.testing.assert_allclose(results[15].data["markers_measured"], trial.positions[15], rtol=1e-12)
    assert run.final.counters["published"] == 20
    assert "new session" in run.text


def test_a_source_that_stops_without_a_word_goes_stale(start, trial, make_session):
    """Protects whoever controls something: the last result again, flagged old, until frames come back."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:3]:
        run.source.send(positions)
    run.read(3, fresh)
    stale = run.read(2, lambda seen: not fresh(seen))
    last = [seen for seen in run.seen if fresh(seen)][-1]
    for repeated in stale:
        assert repeated.status == int(Status.STALE)
        assert (repeated.time, repeated.t_solved) == (last.time, last.t_solved)
        assert repeated.t_published > last.t_published
        np.testing.assert_array_equal(repeated.data["joint_angles"], last.data["joint_angles"])
    run.source.send(trial.positions[3])
    run.source.end()
    seen = run.finish()
    assert statuses(seen) == [0] * 4
    assert [result.seq for result in seen] == list(range(len(seen)))
    assert run.final.counters["stale"] == len(seen) - 4
    assert run.final.counters["published"] == 4


def test_results_go_stale_where_the_clock_was_set_back(start, trial, make_session, monkeypatch):
    """Protects whoever controls something: the flag of old results does not wait until an hour is made up."""
    ahead_ns = [7_200_000_000_000]
    for module in ("loop", "result_session"):
        monkeypatch.setattr(f"rtsim.live.{module}.now_ns", lambda: now_ns() + ahead_ns[0])
    run = start()
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    run.read(1, fresh)
    ahead_ns[0] //= 2
    assert run.read(2, lambda seen: not fresh(seen))
    run.source.end()
    run.finish()


def test_before_the_first_frame_nothing_is_stale(start, make_session):
    """Protects against results of nothing: a silent source gives none at all."""
    run = start(duration_s=0.6)
    run.source.begin(make_session())
    run.thread.join(GUARD_S)
    assert not run.thread.is_alive()
    assert run.results.wait(0.2) is None
    assert run.seen == []


def test_the_run_ends_when_its_time_is_up(start, trial, make_session):
    """Protects --duration: a source without end does not keep the run going; the reason is said."""
    run = start(duration_s=3.0)
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    seen = run.finish()
    assert statuses(seen) == [0]
    assert any("ended after" in said and "duration is over" in said for said in run.results.events)


def test_stop_ends_the_run(start, trial, make_session):
    """Protects the command: the run ends, the reader is told why, the last account is complete."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:5]:
        run.source.send(positions)
    run.read(5, fresh)
    assert run.ask("stop") == (True, "Stopping.")
    run.finish()
    assert any("stopped" in said for said in run.results.events)
    assert run.final.counters["published"] == 5


def test_a_source_that_ends_ends_the_run_after_its_last_frame(start, trial, make_session):
    """Protects the tail: frames that wait when the end arrives are still solved."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions:
        run.source.send(positions)
    run.source.end()
    assert statuses(run.finish()) == [0] * len(trial.positions)


def test_a_slow_loop_skips_the_oldest_and_says_so(
    start, trial, make_session, estimator, eventually, monkeypatch
):
    """Protects latency: with a backlog of one the newest frame is next, the others are counted."""
    gate, entered = threading.Event(), threading.Event()
    estimate = estimator.estimate

    def slow(*args):
        entered.set()
        assert gate.wait(GUARD_S)
        return estimate(*args)

    monkeypatch.setattr(estimator, "estimate", slow)
    run = start(backlog=1)
    run.source.begin(make_session())
    run.source.send(trial.positions[0])
    assert entered.wait(GUARD_S)
    for positions in trial.positions[1:10]:
        run.source.send(positions)
    run.source.end()
    eventually(lambda: run.markers.counters["received"] == 10)
    gate.set()
    assert [result.time for result in run.finish()] == pytest.approx([0.0, 0.09])
    counters = run.final.counters
    assert (counters["received"], counters["skipped"], counters["lost"]) == (10, 8, 0)
    assert "skipped because the reader was busy" in run.text


def test_telemetry_is_an_account_of_the_run(start, trial, make_session):
    """Protects the watchers: counters, latencies, marker RMS and load, the last one marked final."""
    run = start()
    run.source.begin(make_session())
    for positions in trial.positions[:20]:
        run.source.send(positions)
    run.source.end()
    results = [result for result in run.finish() if fresh(result)]
    final = run.final
    assert [message.gauges["final"] for message in run.telemetry[:-1]] == [0.0] * (len(run.telemetry) - 1)
    assert final.session == results[0].session.session
    assert final.counters["received"] == final.counters["published"] == 20
    for name in ("lost", "duplicate", "malformed", "millimetres_as_metres", "missing_markers"):
        assert final.counters[name] == 0
    spent = np.array([1e-3 * (result.t_published - result.t_received) for result in results])
    assert final.gauges["receive_to_publish_us.max"] == pytest.approx(spent.max())
    assert final.gauges["receive_to_publish_us.p50"] == pytest.approx(
        np.percentile(spent, 50.0, method="inverted_cdf"), rel=0.01
    )
    rms = np.sqrt(np.mean([result.data["marker_rms"][0] ** 2 for result in results]))
    assert final.gauges["marker_rms_mm"] == pytest.approx(1e3 * rms)
    assert final.gauges["cpu_percent"] > 0.0
    assert any("ended after 20 frames" in said for said in final.text)


def test_the_loop_can_be_run_again(start, trial, make_session, estimator, subject):
    """Protects a second run in the same process: a loop of its own, with counters of its own."""
    for _ in range(2):
        run = start()
        run.source.begin(make_session())
        run.source.send(trial.positions[0])
        run.source.end()
        run.finish()
        assert run.final.counters["published"] == 1
        assert isinstance(run.loop, Loop)
