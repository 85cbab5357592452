"""`rtsim show`: the shipped configs listed, printed and copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rtsim.cli.commands.check import check_config
from rtsim.cli.commands.show import all_configs, what_it_is
from rtsim.cli.main import cli
from rtsim.config.paths import configs_root
from rtsim.errors import ConfigError


def show(*arguments: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(cli, ["show", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str) -> str:
    """Return the sentence with which the command refuses."""
    with pytest.raises(ConfigError) as fault:
        cli.main(["show", *arguments], standalone_mode=False)
    return str(fault.value)


def test_the_list_names_every_config_and_says_what_it_is() -> None:
    """Protects who looks for a beginning: none is left out, none stands there without words."""
    printed = show()
    for key, path in all_configs().items():
        assert key.partition("/")[2] in printed
        assert len(what_it_is(path)) > 20, key


def test_a_config_is_printed_and_copied_as_it_is(tmp_path: Path) -> None:
    """Protects the copy: byte for byte, whole, and right at once."""
    text = (configs_root() / "labs" / "cgm1.toml").read_text(encoding="utf-8")
    assert show("cgm1") == show("labs/cgm1") == show("configs/labs/cgm1.toml") == text
    assert show("cgm1", "--out", str(tmp_path / "mine.toml")) == ""
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", all_configs())
def test_a_copy_of_each_config_is_right_where_it_lies(name: str, tmp_path: Path) -> None:
    """Protects who copies one: what it refers to is found from another folder, too."""
    copy = tmp_path / "copy.toml"
    show(name, "--out", str(copy))
    assert check_config(copy)


def test_what_cannot_be_shown_is_told(tmp_path: Path) -> None:
    """Protects who mistypes: near names, the folders of a name that several have, files that stay."""
    assert "labs/walker, runs/walker, subjects/walker" in refused("walker")
    assert "perhaps labs/cgm1" in refused("cgm11")
    assert "`rtsim show` lists them all" in refused("../../etc/passwd")
    assert "ends in .toml" in refused("cgm1", "--out", str(tmp_path / "mine.txt"))
    assert "the name of a config is missing" in refused("--out", str(tmp_path / "mine.toml"))
    (tmp_path / "mine.toml").write_text("mine", encoding="utf-8")
    assert "exists already" in refused("cgm1", "--out", str(tmp_path / "mine.toml"))
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == "mine"
    show("cgm1", "--out", str(tmp_path / "mine.toml"), "--force")
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == show("cgm1")
