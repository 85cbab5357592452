"""`rtsim bench mbo`: whole frames are those that `rtsim live` runs."""

from __future__ import annotations

import json

import pytest

from rtsim.files.markers.markers import write_trc


@pytest.mark.process
def test_whole_frames_are_those_of_a_live_run(rtsim, any_ports, trial, tmp_path):
    """Protects the reader of the bench: a marker that strays is weighed down in it as in `rtsim live`."""
    stray = trial.positions.copy()
    stray[30:, trial.names.index("RTTB")] += 0.09
    write_trc(tmp_path / "walk.trc", trial._replace(positions=stray))
    done = rtsim("bench", "mbo", "--data", "walk.trc", "--subject", "walker", "--seconds", 0.01, "--json")
    assert done.code == 0, done.err
    figures = {figure["name"]: figure["value"] for figure in json.loads(done.out)["figures"]}
    options = ("--method", "zero", "--json", *any_ports)
    live = rtsim("live", "--source", "walk.trc", "--subject", "walker", *options)
    assert live.code == 0, live.err
    told = json.loads(live.out)
    assert told["lost"] + told["skipped"] == 0
    assert figures["live_marker_rms_mm.zero"] == pytest.approx(told["marker_rms_mm"], abs=1e-3)
    # the kernel alone is the paper's problem, in which the stray marker counts in full
    assert figures["marker_rms_mm.zero"] < told["marker_rms_mm"] - 0.1
    for stage in ("receive", "solve", "fields", "encode"):
        assert 0.0 < figures[f"live_{stage}_us.minimised"] < figures["live_max_us.minimised"]
