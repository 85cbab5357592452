"""Config files with the names of an earlier version keep working."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rtsim.config.former_names import FormerName, with_current_names
from rtsim.config.load import check_record, load_toml, parse_toml
from rtsim.config.models.friction_laws import Friction
from rtsim.config.paths import configs_root
from rtsim.config.runs.run_schema import Solver
from rtsim.errors import ConfigError


def test_a_former_value_is_read_and_told(tmp_path: Path) -> None:
    """Protects models written before: the law is the same, and its new name is told."""
    path = tmp_path / "friction.toml"
    path.write_text('law = "proposed"\nstatic = 0.8\ndynamic = 0.7\n')
    with pytest.warns(FormerName, match='law = "proposed" was renamed "brown_mcphee"'):
        assert load_toml(path, Friction).law == "brown_mcphee"


def test_former_names_are_found_in_all_tables() -> None:
    """Protects keys in nested tables and in lists of tables; other texts with such a word stay."""
    text = '[solver]\nsecond_opinion = 9\n[[contacts]]\nname = "proposed"\nfriction = { law = "proposed" }\n'
    with pytest.warns(FormerName) as told:
        tables = parse_toml(text, "run.toml")
    assert tables == {
        "solver": {"restart_interval": 9},
        "contacts": [{"name": "proposed", "friction": {"law": "brown_mcphee"}}],
    }
    assert len(told) == 2
    assert all(str(warning.message).startswith("run.toml: ") for warning in told)


def test_both_names_of_a_key_are_refused() -> None:
    """Protects from choosing one of two in silence: the former one is left for the schema to refuse."""
    tables = {"second_opinion": 9, "restart_interval": 8}
    assert with_current_names(dict(tables), "run.toml") == tables


@pytest.mark.process
def test_the_command_line_tells_a_former_name_once(tmp_path: Path) -> None:
    """Protects users: one sentence with the file and both names, without a line of source."""
    run = (configs_root() / "runs" / "walker.toml").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(run.replace("restart_interval", "second_opinion"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in (done.stdout + done.stderr).splitlines() if "second_opinion" in line]
    assert re.fullmatch(r"rtsim: .*own\.toml: the key second_opinion was renamed restart_interval; .*", told)


def test_an_unknown_key_is_still_refused() -> None:
    """Protects from a mistake that passes for a former name."""
    tables = parse_toml("second_opinions = 3", "run.toml")
    with pytest.raises(ConfigError, match="second_opinions"):
        check_record(tables, Solver, "run.toml")
