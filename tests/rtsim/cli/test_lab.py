"""`rtsim lab new`: from a file to a map that the other commands take, and a sentence for every wrong file."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rtsim.cli.main import cli
from rtsim.errors import ConfigError
from rtsim.files.markers.markers import write_trc
from rtsim.files.markers.trial import MarkerTrial
from tests.rtsim.subjects.lab_proposal.standing_person import places, trial_of, unnamed


@pytest.fixture
def static(tmp_path, monkeypatch) -> MarkerTrial:
    """A static trial with names that no map knows, in the working folder."""
    monkeypatch.chdir(tmp_path)
    trial = trial_of(places(), unnamed(places()))
    write_trc(tmp_path / "still.trc", trial)
    return trial


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["lab", "new", *words])


def test_a_map_is_written_drawn_and_taken(static, tmp_path) -> None:
    """Protects the whole way: the map passes `check` and calibrates; its picture names the roles."""
    pytest.importorskip("pyqtgraph")
    done = run("still.trc", "--out", "ours.toml", "--plot", "ours.svg")
    assert done.exit_code == 0, done.output
    assert "0 roles found by name and position" in done.output
    assert "calcaneus" in (tmp_path / "ours.svg").read_text()
    checked = CliRunner().invoke(cli, ["check", "ours.toml"])
    assert checked.exit_code == 0, checked.output
    words = ["calibrate", "still.trc", "--lab", "ours.toml", "--out", "person.toml"]
    calibrated = CliRunner().invoke(cli, words)
    assert calibrated.exit_code == 0, (calibrated.output, calibrated.exception)
    assert "side: both" in calibrated.output


def test_nothing_is_replaced_unasked(static, tmp_path) -> None:
    """Protects maps that were corrected by hand."""
    (tmp_path / "ours.toml").write_text("by hand")
    done = run("still.trc", "--out", "ours.toml", "--no-plot")
    assert done.exit_code != 0
    assert isinstance(done.exception, ConfigError)
    assert "exists already" in str(done.exception)
    assert (tmp_path / "ours.toml").read_text() == "by hand"
    assert run("still.trc", "--out", "ours.toml", "--no-plot", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("still.trc", "--out", "ours.txt"), "ends in .toml"),
        (("none.trc",), "none.trc"),
        (("still.trc", "--plot", "ours.gif"), ".png"),
        (("still.trc", "--plot", "a.png", "--no-plot"), "give only one of them"),
        (("still.trc", "--movement", "none.trc", "--no-plot"), "none.trc"),
        (("still.trc", "--person", "Ann", "--no-plot"), "Ann"),
        (("still.trc", "--up", "X", "--no-plot"), "nobody stands"),
        (("still.trc", "--units", "m", "--no-plot"), "--units"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(static, tmp_path, words, said) -> None:
    """Protects users of wrong options and files: a sentence, a failure, and no file."""
    done = run(*words)
    assert done.exit_code != 0
    assert isinstance(done.exception, ConfigError), done.exception
    assert said in str(done.exception)
    assert not list(tmp_path.glob("*.toml"))


def test_a_person_who_sits_makes_no_map(tmp_path, monkeypatch) -> None:
    """Protects against a pose that is none of standing: no map, and what is missing in words."""
    monkeypatch.chdir(tmp_path)
    bent = {}
    for (role, side), place in places().items():
        forwards, up, aside = place
        if up > 0.5:  # thighs forwards, the trunk above the knees' height
            thigh = min(up, 0.93) - 0.5
            forwards, up = forwards - thigh, 0.5 + 0.1 * thigh + max(0.0, up - 0.93)
        bent[role, side] = np.array([forwards, up, aside])
    write_trc(tmp_path / "sits.trc", trial_of(bent, unnamed(bent)))
    done = run("sits.trc", "--no-plot")
    assert done.exit_code != 0 or " 0 roles found by name and position" in f" {done.output}"


def test_roles_are_listed_and_drawn(tmp_path, monkeypatch) -> None:
    """Protects the table and the picture of the roles: each role of a leg's landmarks is in both."""
    pytest.importorskip("pyqtgraph")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["lab", "roles", "--plot", "roles.svg"])
    assert done.exit_code == 0, done.output
    drawn = (tmp_path / "roles.svg").read_text()
    for role in ("asis", "calcaneus", "fibula_head", "thigh_lateral", "metatarsal_5"):
        assert role in done.output
        assert f">{role}<" in drawn.replace(" <", "<").replace("> ", ">")
