"""`rtsim live` as a user starts it: three processes and real sockets."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rtsim.cli.commands.live import check_recorded
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.files.recording import read_results
from streams.control.commands import request
from streams.messages import Status
from streams.recording.recorded import read_messages

GUARD_S = 120.0
pytestmark = pytest.mark.process


def account(done, code: int = 0, beside: tuple[str, ...] = ()) -> dict:
    """The summary of a run that went well: strict JSON and nothing else on standard output, and beside it
    only where others can join.
    """
    assert done.code == code, done.err
    summary = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    places = summary["addresses"]
    where = "markers at {markers}, results at {results}, commands at {control}".format(**places)
    assert done.err.splitlines() == [where, *beside]
    return summary


def await_frames(live) -> str:
    """Wait until the estimator has published something; the address of its commands."""
    control = re.search(r"commands at (\S+)", live.said("commands at "))[1]
    due = time.monotonic() + GUARD_S
    while time.monotonic() < due and live.popen.poll() is None:
        ok, text = request(control, "status", timeout_s=1.0)
        if ok and " 0 frames" not in text:
            return control
        time.sleep(0.02)
    pytest.fail(f"the run never began: {text}; {live.popen.poll()}; {live.said('')}")


def test_plates_beside_the_walker(rtsim, any_ports, tmp_path):
    """Protects `live --forces`: every frame finds its forces, and moments come of them."""
    path = tmp_path / "moments.mcap"
    done = rtsim(
        "live", "--forces", "walker", "--mass", 72, "--duration", 2, "--record", path, "--json", *any_ports
    )
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert summary["lost"] == 0
    assert summary["faults"]["forces_received"] == 200
    assert "forces_missing" not in summary["faults"]
    results = read_results(path)
    assert results.session.meta["mass_kg"] == 72.0
    assert 0.5 < np.isfinite(results.fields["joint_moments"]).all(axis=1).mean() < 1.0


def test_two_seconds_of_the_walker(rtsim, any_ports):
    """Protects `rtsim live --duration 2 --json`: 200 frames, none lost, all accounted for."""
    summary = account(rtsim("live", "--duration", 2, "--json", *any_ports))
    assert summary["lost"] == 0
    # frames may only be missing where this machine was too slow, and then they are counted
    assert summary["frames"] + summary["skipped"] == 200
    assert sum(summary["statuses"].values()) >= summary["frames"]
    assert set(summary["statuses"]) <= {"ok", "late", "stale", "late, stale"}
    assert set(summary["faults"]) <= {"late", "skipped", "stale"}
    assert (summary["method"], summary["subject"]) == ("minimised", "walker")
    assert 1.0 < summary["marker_rms_mm"] < 10.0
    assert summary["first_result_ns"] > 0
    for stage in ("receive_to_solve", "solve_to_publish", "receive_to_publish", "capture_to_publish"):
        figures = summary["latency_us"][stage]
        assert 0.0 < figures["p50"] <= figures["p99"] <= figures["p99_9"] <= figures["max"]


def test_a_trc_file_with_a_subject_and_a_method(rtsim, any_ports, trial, tmp_path):
    """Protects files as sources, and the run without --json: the closing lines say for people how it went;
    in them [us] is a unit, and a file's name is not a colour.
    """
    write_trc(tmp_path / "[bold]walk[us].trc", trial)
    options = ("--subject", "walker", "--method", "prescribed", "--speed", 2)
    done = rtsim("live", "--source", "[bold]walk[us].trc", *options, *any_ports)
    assert done.code == 0, done.err
    found = re.search(
        r"(\d+) frames, 0 lost, \d+ late, (\d+) skipped; marker RMS \S+ mm \(prescribed, right\)", done.out
    )
    assert found, done.out
    assert int(found[1]) + int(found[2]) == len(trial.times)
    heads = [line.split() for line in done.out.splitlines() if line.startswith("latency")]
    assert heads == [["latency", "[us]", "p50", "p99", "p99.9", "max"]]
    assert "receive to publish" in done.out


def test_a_run_config_reaches_the_estimator_and_its_results_the_recorder(rtsim, any_ports, tmp_path):
    """Protects run configs and --record: one iteration solves no frame, so that the run fails; the file has
    them all.
    """
    (tmp_path / "hasty.toml").write_text('name = "hasty"\nduration_s = 0.3\n[solver]\nmax_iterations = 1\n')
    options = ("--config", "hasty.toml", "--record", "walk.mcap", "--json")
    done = rtsim("live", *options, *any_ports)
    n_message = len(list(read_messages(tmp_path / "walk.mcap")))
    n = json.loads(done.out)["frames"]
    unusable = f"rtsim: walker: none of {n} frames gave usable results ("
    done = done._replace(err=re.sub(rf"{re.escape(unusable)}.*not_converged {n}.*", unusable, done.err))
    said = (f"walk.mcap: {n_message} messages, 0 refused", unusable)
    summary = account(done, code=1, beside=said)
    assert summary["frames"] + summary["skipped"] == 30
    assert summary["faults"]["not_converged"] == summary["frames"]
    results = read_results(tmp_path / "walk.mcap")
    assert len(results.times) == sum(summary["statuses"].values())
    assert (results.status & int(Status.NOT_CONVERGED)).all()
    assert results.notes == ()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_request_to_end_leaves_the_summary(start, any_ports, how):
    """Protects the user of Ctrl-C, which a terminal sends to the whole group: the account so far; and of a
    request to terminate, and of a closed terminal.
    """
    how = getattr(signal, how)
    live = start("live", "--loop", "--json", *any_ports)
    control = await_frames(live)
    if how == signal.SIGINT:
        os.killpg(live.popen.pid, how)
    else:
        live.popen.send_signal(how)
    summary = account(live.wait(), 128 + how)
    assert summary["frames"] > 0
    assert not request(control, "status", timeout_s=0.3)[0]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
def test_no_process_stays_behind(start, any_ports):
    """Protects the machine: though the run is killed, its player and estimator end too."""
    live = start("live", "--loop", "--json", *any_ports)
    control = await_frames(live)
    live.popen.kill()
    live.popen.wait(GUARD_S)
    due = time.monotonic() + GUARD_S
    while request(control, "status", timeout_s=0.2)[0]:
        assert time.monotonic() < due, "the estimator is still there"


def test_a_run_is_stopped_by_command(start, rtsim, any_ports):
    """Protects the command line to a running estimator: answers in words, then the end."""
    live = start("live", "--loop", "--json", *any_ports)
    control = await_frames(live)
    done = rtsim("command", "set_method", "method=zero", "--control", control)
    assert (done.code, done.out) == (0, "The method is zero from the next frame on.\n")
    done = rtsim("command", "set_method", "method=best", "--control", control)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("rtsim: command set_method: There is no method 'best'; this run offers ")
    assert rtsim("command", "stop", "--control", control).out == "Stopping.\n"
    assert account(live.wait())["method"] == "zero"


def test_a_run_that_left_no_recording_is_told(tmp_path: Path) -> None:
    """Protects whoever asked for a recording: that there is none ends in a sentence, not in silence."""
    check_recorded(None)
    there = tmp_path / "there.mcap"
    there.touch()
    check_recorded(there)
    with pytest.raises(ConfigError, match="there is no recording"):
        check_recorded(tmp_path / "none.mcap")
