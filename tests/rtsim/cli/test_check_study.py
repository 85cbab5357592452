"""`rtsim check STUDY.toml`: a study that cannot be is told before a cluster is asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rtsim.cli.main import cli
from tests.rtsim.studies.impacts import impacts

STUDY = impacts(mass=(0.5, 0.6), step=(0.08, 0.16))


def checked(path: Path, text: str) -> tuple[int, str]:
    path.write_text(text)
    done = CliRunner().invoke(cli, ["check", str(path)])
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_a_study_is_named_with_its_cases(tmp_path: Path) -> None:
    """Protects who asks whether a study is right: what it is, in a line."""
    code, said = checked(tmp_path / "a.toml", STUDY)
    assert code == 0, said
    assert "study impacts: 4 cases, design grid over mass, step" in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("model.bodies.ball.mass_kg", "model.bodies.bal.mass_kg", "there is no 'bal'"),
        ("values = [0.5, 0.6]", "values = []", "needs values"),
        ("values = [0.5, 0.6]", "values = [-1.0, -2.0]", "no value of this parameter is allowed"),
        ('name = "impacts"', 'name = "impacts"\nspeed = 3', "speed"),
        ('model = "impact"', 'model = "impakt"', "impakt"),
        ("[[results]]", "[analyse]\n[[results]]", "has exactly one of the tables"),
    ],
)  # fmt: skip
def test_an_impossible_study_is_told(tmp_path: Path, old: str, new: str, words: str) -> None:
    """Protects the time of a cluster: unknown key, empty grid, too many cases, values that nothing has."""
    code, said = checked(tmp_path / "a.toml", STUDY.replace(old, new))
    assert code == 1
    assert words in said
    assert "Traceback" not in said


def test_a_thousand_million_cases_cost_nothing(tmp_path: Path) -> None:
    """Protects memory: cases are counted before any of them is made."""
    many = "".join(
        f'[[parameters]]\nname = "p{k}"\nkey = "model.bodies.ball.inertia_kg_m2.{k}"\n'
        f"values = {list(range(1, 1001))}\n"
        for k in range(3)
    )
    code, said = checked(tmp_path / "a.toml", STUDY.replace("[[results]]", many + "[[results]]"))
    assert code == 1
    assert "4,000,000,000 cases" in said


def test_some_refused_values_are_a_note(tmp_path: Path) -> None:
    """Protects a study that means to find a bound: cases that a schema refuses are rows, and told."""
    code, said = checked(tmp_path / "a.toml", STUDY.replace("[0.5, 0.6]", "[0.5, -1.0]"))
    assert code == 0, said
    assert "note: parameters.mass: -1.0 is not allowed" in said
