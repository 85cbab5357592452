"""The last sentence of a live run of which nothing can be used."""

from __future__ import annotations

import pytest

from rtsim.cli.runs.live_outcome import check_recorded, reason_of, unusable
from rtsim.errors import ConfigError

UNSEEN = "Too few markers determine pelvis: it stays near its last pose and is degraded."
SUMMARY = {"frames": 30, "usable": 0, "statuses": {"late, degraded": 10, "degraded": 20}, "told": []}


def test_frames_that_are_all_unusable_are_told_with_their_reason():
    """Protects who reads the JSON: which flags the frames have, what was said of them, what to do."""
    told = ["A new session began.", UNSEEN]
    said = str(unusable("qtm://lab", {**SUMMARY, "told": told}))
    assert said.startswith("qtm://lab: none of 30 frames gave usable results (degraded 30, late 10): Too ")
    assert "the subject file belongs to this person" in said


@pytest.mark.parametrize("told", [[], ["x" * 5000], ["Nothing of these flags."]])
def test_whatever_was_said_the_sentence_is_one(told):
    """Protects terminals: a run that said nothing, or too much, has a sentence of bounded length."""
    assert 60 < len(str(unusable("qtm://lab", {**SUMMARY, "told": told}))) < 400


@pytest.mark.parametrize("other", [{"usable": 1}, {"statuses": {}}])
def test_a_run_with_usable_frames_or_none_at_all_is_no_fault(other):
    """Protects exit codes: one usable frame will do, and no frame at all is told while it is waited for."""
    assert unusable("qtm://lab", {**SUMMARY, **other}) is None


def test_a_recording_that_is_not_there_is_told(tmp_path):
    """Protects who asked for a recording: its absence is a fault, its presence none."""
    check_recorded(None)
    with pytest.raises(ConfigError, match="no recording"):
        check_recorded(tmp_path / "run.mcap")
    (tmp_path / "run.mcap").touch()
    check_recorded(tmp_path / "run.mcap")


def test_the_reason_in_the_json_is_never_silence():
    """Protects programs: unusable frames, a failed process and no frame at all have a sentence."""
    fault = unusable("qtm://lab", SUMMARY)
    assert reason_of("qtm://lab", SUMMARY, fault, []) == str(fault)
    assert reason_of("qtm://lab", SUMMARY, None, ["the connector was killed"]) == "the connector was killed"
    assert "no frame came" in reason_of("qtm://lab", {**SUMMARY, "statuses": {}}, None, [])
    assert reason_of("qtm://lab", {**SUMMARY, "usable": 3}, None, []) == ""
