"""What stands on standard output beside the figures of a bench."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from benchmarks.opensim_peer import opensim
from rtsim.bench.figures import BenchFigure
from rtsim.cli.main import cli


def test_what_opensim_prints_is_no_figure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Protects `rtsim bench opensim --json`: what OpenSim's tools print themselves is not before the JSON."""

    def talkative(folder: object) -> list[BenchFigure]:
        os.write(1, b"MODEL: of the library\n")
        print("a line of its wrapper")
        return [BenchFigure("own", 1.0, "1")]

    monkeypatch.setattr(opensim, "run", talkative)
    done = CliRunner().invoke(cli, ["bench", "opensim", "--json"])
    os.write(1, b"after\n")
    written = capfd.readouterr()
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["figures"][0]["name"] == "own"
    assert written.out == "after\n"
    assert "MODEL: of the library" in written.err
    assert "a line of its wrapper" in done.stderr
