"""Recordings that are altered, cut, lack something or are no recordings of a run: each in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.live.exact.build import differences_of_builds
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject
from streams.codec import decode, encode
from streams.messages import Journal, Result, marker_session
from streams.recording.recorded import read_messages
from streams.recording.recorder import Recorder
from tests.rtsim.live.exact.recorded import MarkerSender, recorded_run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A recorded run of thirty frames."""
    allow_compilation()
    trial = walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 0.3)

    def drive(sender: MarkerSender) -> None:
        sender.begin(marker_session(trial.names, rate=100.0, t_start=0))
        for positions in trial.positions:
            sender.frame(positions)

    path = tmp_path_factory.mktemp("run") / "run.mcap"
    recorded_run(path, RunConfig(name="test", subject="walker", method="minimised", backlog=64), drive)
    return path


def copied(run: Path, out: Path, change: Callable[[Any], Any]) -> Path:
    """Return a copy with each message changed, or left out where the change is None."""
    with Recorder(out) as recorder:
        for t_ns, topic, payload in read_messages(run):
            message = change(decode([topic, payload]))
            if message is not None:
                recorder.write(*encode(message), t_ns)
    return out


def replayed(path: Path, *options: str) -> tuple[int, str]:
    allow_compilation()
    found = CliRunner().invoke(cli, ["replay", str(path), "--exact", *options])
    return found.exit_code, found.output


def test_the_command_says_that_it_is_exact(run):
    """Protects the sentence and the exit code of an equal run."""
    code, text = replayed(run)
    assert code == 0
    assert "30 of 30 results and 1 of 1 descriptor are equal byte for byte." in text
    assert text.splitlines()[-1] == "The replay is exact."


def test_one_bit_of_one_result_is_found(run, tmp_path):
    """Protects the comparison itself: a result that is not what was computed has its place told."""

    def change(message: Any) -> Any:
        if not isinstance(message, Result) or message.seq != 12:
            return message
        angles = np.frombuffer(message.data["joint_angles"]).copy()
        angles[1] = np.nextafter(angles[1], 9.0)
        return replace(message, data={**message.data, "joint_angles": angles.tobytes()})

    changed = copied(run, tmp_path / "changed.mcap", change)
    code, text = replayed(changed, "--json")
    row = json.loads(text)
    assert (code, row["results"], row["results_equal"]) == (1, 30, 29)
    (quantity,) = row["quantities"]
    assert (quantity["quantity"], quantity["differ"], quantity["first"]["frame"]) == ("joint_angles", 1, 12)
    assert replayed(changed, "--tolerance", "1e-12")[0] == 0


def test_another_build_is_told_and_rounding_allowed(run, tmp_path):
    """Protects what another machine says: which facts differ, and equality but for rounding."""

    def change(message: Any) -> Any:
        if isinstance(message, Journal) and message.entry == "run":
            build = {**message.values["build"], "numba": "0.1"}
            return replace(message, values={**message.values, "build": build})
        if isinstance(message, Result):
            angles = np.frombuffer(message.data["joint_angles"]) * (1.0 + 1e-15)
            return replace(message, data={**message.data, "joint_angles": angles.tobytes()})
        return message

    code, text = replayed(copied(run, tmp_path / "other.mcap", change))
    assert code == 0
    assert "by another build or on another machine: numba" in text
    assert text.splitlines()[-1] == "The replay is equal but for rounding."


def test_what_differs_of_two_builds_is_in_words():
    """Protects that sentence: versions by name, instruction sets by what is more and less."""
    found = differences_of_builds(
        {"numpy": "2.0", "instruction sets": "avx sse", "rtsim": "1"},
        {"numpy": "2.1", "instruction sets": "neon sse", "rtsim": "1"},
    )
    assert found == ["numpy 2.1 instead of 2.0", "instruction sets without avx and with neon"]


def test_a_gap_and_a_cut_end_the_comparison_there(run, tmp_path):
    """Protects recordings that are not whole: what comes before is compared, the rest is said."""
    gap = copied(run, tmp_path / "gap.mcap", lambda m: None if isinstance(m, Journal) and m.seq == 15 else m)
    code, text = replayed(gap)
    assert code == 0
    assert "1 entries of the run log are missing after entry 14" in text
    assert text.splitlines()[-1] == "The replay is exact as far as the recording goes."
    lost = copied(
        run, tmp_path / "lost.mcap", lambda m: None if isinstance(m, Result) and m.seq in (3, 4) else m
    )
    code, text = replayed(lost)
    assert "2 results of the run are not in the recording." in text
    assert "28 of 28 results" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: None if isinstance(m, Journal) else m, "contains no log of a run"),
        (lambda m: None if isinstance(m, Journal) and m.seq == 0 else m, "the beginning of the run log"),
        (
            lambda m: replace(m, data={"request": b"{"}) if isinstance(m, Journal) and m.seq == 0 else m,
            "does not understand the options of the run",
        ),
        (
            lambda m: (
                replace(m, values={**m.values, "format": 99}) if isinstance(m, Journal) and m.seq == 0 else m
            ),
            "the run log has the format 99",
        ),
        (
            lambda m: (
                replace(m, data={"values": b"12345678"})
                if isinstance(m, Journal) and m.entry == "frame" and m.values["seq"] == 5
                else m
            ),
            "of the run log (frame) cannot be used",
        ),
    ],
    ids=["none", "beginning", "request", "format", "frame"],
)
def test_what_cannot_be_replayed_is_one_sentence(run, tmp_path, change, words):
    """Protects old, damaged and foreign recordings: exit code 2, one sentence, no traceback."""
    code, text = replayed(copied(run, tmp_path / "bad.mcap", change))
    assert code == 2, text
    assert words in text
    assert len(text.splitlines()) == 1


def test_what_is_no_recording_is_one_sentence(tmp_path):
    """Protects the command line: no file, a folder, another format, options of playing."""
    (tmp_path / "text.mcap").write_text("no recording", encoding="utf-8")
    for path in (tmp_path / "none.mcap", tmp_path, tmp_path / "text.mcap"):
        code, text = replayed(path)
        assert code == 2
        assert len(text.splitlines()) == 1
