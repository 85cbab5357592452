"""Choices of a run config: taken, overlaid, and what is none of them."""

from __future__ import annotations

import msgspec
import pytest

from rtsim.cli.terminal.options import make_run
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import choices_of, load_run
from rtsim.errors import ConfigError
from rtsim.files.model_toml import model_text
from rtsim.live.processes.requests import EstimatorRequest, encoded, estimator_request
from rtsim.live.processes.serve import meta_of
from rtsim.models.load import load_model

TEXT = """
name = "mine"
[markers]
floor_mm = 30.0
n_learn = 10
[choices.skin.loose.markers]
floor_mm = 60.0
[choices.skin.tight]
method = "free"
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TEXT)
    return path


def test_keys_of_a_choice_lie_over_those_of_the_run(mine) -> None:
    """Protects --set: the first choice unless another is asked for, other keys of a table as they were."""
    usual, tight = load_run(mine), load_run(mine, ["skin=tight"])
    assert (usual.markers.floor_mm, usual.markers.n_learn, usual.method) == (60.0, 10, "")
    assert (tight.markers.floor_mm, tight.markers.n_learn, tight.method) == (30.0, 10, "free")
    assert (usual.chosen, tight.chosen) == (("skin=loose",), ("skin=tight",))
    assert meta_of(tight)["chosen"] == ["skin=tight"]
    assert choices_of(mine, "skin") == ("loose", "tight")
    with pytest.raises(ConfigError, match="no choice of 'bone'; allowed: skin"):
        choices_of(mine, "bone")


@pytest.mark.parametrize("words", ["skin=wet", "bone=tight", "skin", "", "="])
def test_what_is_no_choice_names_those_there_are(mine, words) -> None:
    """Protects users from a choice that nothing came of."""
    with pytest.raises(ConfigError, match="allowed: skin=loose, skin=tight"):
        load_run(mine, [words])


@pytest.mark.parametrize("tables", ["choices = 3", "[choices]\nskin = 1", "[choices.skin]\nloose = 1"])
def test_choices_without_tables_are_refused(mine, tables) -> None:
    """Protects against a traceback: tables of keys, or one sentence."""
    mine.write_text(f'name = "mine"\n{tables}\n' if tables[0] == "[" else f'{tables}\nname = "mine"\n')
    with pytest.raises(ConfigError, match=r"choices: .*write \[choices\.NAME\.CHOICE\]"):
        load_run(mine)


def test_choices_reach_the_processes_of_a_run(mine) -> None:
    """Protects `live`: the estimator's process is told the run with its choices, and what they were."""
    run = make_run(str(mine), ("skin=tight",))
    told = estimator_request(encoded(EstimatorRequest(run=run, markers="", wait_s=0.0, n_subscriber=1))).run
    assert (told, told.chosen) == (run, ("skin=tight",))
    with pytest.raises(ConfigError, match="add --config RUN"):
        make_run(None, ("skin=tight",))


def test_the_shipped_mandible_offers_its_joints() -> None:
    """Protects the run of docs/fdk.md: points on planes, forces, and the markers alone."""
    path = find_config("mandible", "runs")
    assert choices_of(path, "joint") == ("pop", "fdk", "markers")
    pop, fdk, markers = (load_run(path, [f"joint={choice}"]) for choice in choices_of(path, "joint"))
    assert (pop.fdk.dofs, len(fdk.fdk.dofs), markers.method) == ((), 3, "free")
    assert pop.fdk.joints["left"].takes == {"midline": "negative"}
    assert fdk.compare is not None
    assert set(fdk.compare.fields["joint_point_forces"]) == {"fdk", "pop"}


def test_what_was_chosen_is_not_for_the_config_to_say(mine) -> None:
    """Protects results from a wrong name: two choices of one run are told apart by what was really taken."""
    mine.write_text(f'chosen = ["skin=tight"]\n{TEXT}')
    with pytest.raises(ConfigError, match=r"selected on the command line.*--set"):
        load_run(mine)


def test_two_choices_of_one_name_are_not_taken(mine) -> None:
    """Protects from a run that is not the one that was asked for: neither is the right one by its place."""
    with pytest.raises(ConfigError, match="skin is set to both tight and loose; give only one of them"):
        load_run(mine, ["skin=tight", "skin=loose"])
    assert load_run(mine, ["skin=tight", "skin=tight"]).chosen == ("skin=tight",)


@pytest.mark.parametrize(("compare", "told"), [
    ('choice = "bone"\n[compare.fields]\na = ["loose", "tight"]', "no choice of 'bone'; allowed: skin"),
    ('choice = "skin"\n[compare.fields]\na = ["loose", "wet"]', "unknown choice 'wet'; allowed: loose"),
    ('choice = "skin"\n[compare.fields]\na = ["loose"]', "compare.fields.a: 1 given; allowed: two choices"),
    ('choice = "skin"\nfields = {}', "compare.fields: nothing is compared"),
])  # fmt: skip
def test_what_cannot_be_compared_is_told_before_anything_is_run(mine, compare, told) -> None:
    """Protects patience, and `rtsim check`: it was told when all choices had been run."""
    mine.write_text(f"{TEXT}[compare]\n{compare}\n")
    with pytest.raises(ConfigError, match=told):
        load_run(mine)


def test_files_of_a_run_are_those_beside_it(tmp_path, monkeypatch) -> None:
    """Protects from another person's static trial, which happens to have that name in the working folder."""
    for name in ("anna", "ben"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "static.c3d").write_text(name)
    (tmp_path / "ben" / "walk.c3d").touch()
    config = tmp_path / "anna" / "mine.toml"
    config.write_text('name = "mine"\nstatic = "static.c3d"\nsource = "walk.c3d"\n')
    monkeypatch.chdir(tmp_path / "ben")
    run = load_run(config)
    assert (run.static, run.source) == (str(tmp_path / "anna" / "static.c3d"), "walk.c3d")
    monkeypatch.chdir(tmp_path / "anna")
    assert load_run(config).static == "static.c3d"


def test_surfaces_and_models_of_a_model_are_those_beside_it(tmp_path, monkeypatch) -> None:
    """Protects from a bone of the working folder in a model of another one."""
    for name in ("anna", "ben"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "floor.obj").write_text(name)
    ball = load_model("mesh_ball")
    floor = msgspec.structs.replace(ball.contacts[0].b, file="floor.obj", plate_mm=None, lines=24)
    contact = msgspec.structs.replace(ball.contacts[0], surface_b=floor)
    text = model_text(msgspec.structs.replace(ball, contacts=(contact,)))
    (tmp_path / "anna" / "ball.toml").write_text(text)
    (tmp_path / "anna" / "more.toml").write_text('name = "more"\nsource = "here"\nadds_to = "ball.toml"\n')
    monkeypatch.chdir(tmp_path / "ben")
    for file in ("ball.toml", "more.toml"):
        spec = load_model(str(tmp_path / "anna" / file))
        assert spec.contacts[0].b.file == str(tmp_path / "anna" / "floor.obj")
