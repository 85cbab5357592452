"""Live over sockets and offline give the same numbers, to the last bit: both legs, a trunk and plates."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rtsim.bench.markers.recordings import RECORDINGS, arguments_of
from rtsim.files.recording import read_results
from rtsim.subjects.calibration.trunk import TRUNK
from streams.messages import Status

LATE = int(Status.LATE)


@pytest.mark.process
def test_a_walk_with_trunk_and_plates(shared: Path, tmp_path: Path) -> None:
    """Protects the promise where most is in play: every field of every frame, the trunk's among them."""
    recording, data = RECORDINGS["opensim.walk"], shared / "data"
    source, options = str(data / recording.source), arguments_of(data, recording)
    live, offline = tmp_path / "live.mcap", tmp_path / "offline.mcap"
    commands = (
        ["live", "--source", source, *options, "--record", str(live), "--json", "--port-offset", "auto"],
        ["analyse", source, *options, "--out", str(offline), "--json"],
    )
    told = []
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "rtsim.cli.entry", *command],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    assert (told[0]["frames"], told[0]["lost"], told[0]["skipped"]) == (told[1]["frames"], 0, 0)
    was, now = read_results(live), read_results(offline)
    np.testing.assert_array_equal(was.times, now.times)
    assert was.session.fields == now.session.fields
    labels = {spec.name: spec.labels for spec in now.session.fields}
    assert {"thigh_r", "thigh_l", TRUNK} <= set(labels["segment_positions"])
    moments = now.fields["joint_moments"][:, labels["joint_moments"].index("trunk_flexion")]
    assert np.isfinite(moments).sum() > 50
    for name, values in now.fields.items():
        np.testing.assert_array_equal(was.fields[name], values, err_msg=name)
    np.testing.assert_array_equal(was.status & ~LATE, now.status)
