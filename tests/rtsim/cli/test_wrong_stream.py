"""A stream of another person through `live` and `estimate`: a sentence, flagged frames, and an exit code."""

from __future__ import annotations

import json

import pytest

from rtsim.config.paths import find_config
from rtsim.files.markers.markers import write_trc
from rtsim.models.load import load_model
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.subject import load_subject

LOCAL = "tcp://127.0.0.1:0"
SAID = "the distances between its markers differ from those of the subject"
pytestmark = pytest.mark.process


@pytest.fixture
def markers(start, tmp_path):
    """The address of six seconds of somebody who is as many times as large as the walker."""

    def play(size: float) -> str:
        trial = walk(load_model("lower_limb"), load_subject(find_config("walker", "subjects")), 6.0)
        write_trc(tmp_path / "walk.trc", trial._replace(positions=size * trial.positions))
        player = start("replay", "walk.trc", "--address", LOCAL, "--states", "--wait", "120")
        return player.state("ready")["markers"]

    return play


@pytest.mark.parametrize("anyway", [False, True])
def test_a_stream_of_another_person_fails_at_its_end(markers, rtsim, any_ports, anyway):
    """Protects who starts `live` with yesterday's subject: told, flagged, exit code 1 unless wanted."""
    options = ["--anyway"] if anyway else []
    done = rtsim("live", "--source", markers(1.07), "--subject", "walker", "--json", *any_ports, *options)
    assert done.code == (0 if anyway else 1)
    assert (SAID in done.err) == (not anyway)
    assert ("person in the stream" in done.err) == (not anyway)
    assert "has failed" not in done.err
    summary = json.loads(done.out)
    assert (SAID in summary["reason"]) == (not anyway)
    suspect = sum(n for words, n in summary["statuses"].items() if "suspect" in words)
    assert 0 < suspect < summary["frames"]


def test_the_subjects_own_stream_is_fine(markers, rtsim, any_ports):
    """Protects from false alarms, and who runs `live` beside a player on another machine: its notes are told
    here, and go along.
    """
    done = rtsim("live", "--source", markers(1.0), "--subject", "walker", "--json", *any_ports)
    assert done.code == 0, done.err
    assert SAID not in done.err
    noted = [note for note in json.loads(done.out)["notes"] if "walk.trc" in note]
    assert noted
    assert [note for note in noted if note not in done.err] == []
