"""`rtsim check`: right configs are named, wrong ones told, each in a line."""

from __future__ import annotations

import pytest

from rtsim.config.paths import configs_root

SHIPPED = sorted(configs_root().glob("*/*.toml"))


def test_all_shipped_configs_are_checked(here):
    """Protects what is shipped, and the command without arguments."""
    done = here("check")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [str(path) for path in SHIPPED]
    assert any(
        "model lower_limb: 4 bodies, 8 elements, 3 surfaces, 12 muscles, methods zero, minimised" in line
        for line in lines
    )
    assert any("subject walker: 4 segments, 17 markers" in line for line in lines)


def test_every_file_is_told_and_the_bad_ones_counted(here, tmp_path):
    """Protects against stopping at the first fault: all files are looked at."""
    (tmp_path / "good.toml").write_text('name = "mine"\nduration_s = 3.0\n')
    (tmp_path / "typo.toml").write_text('name = "mine"\nduratoin_s = 3.0\n')
    (tmp_path / "broken.toml").write_text("name = \n")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    names = ("good.toml", "typo.toml", "broken.toml", "binary.toml", "missing.toml", ".")
    done = here("check", *names)
    assert done.code == 1
    assert done.out == "good.toml: run mine\n"
    told = done.err.splitlines()
    assert len(told) == 6
    for name, line, words in zip(
        names[1:],
        told,
        ("duratoin_s", "not valid TOML", "UTF-8", "no such file", "is a folder"),
        strict=False,
    ):
        assert line.startswith((f"{name}: ", f"{name} is"))
        assert words in line
    assert done.sentence == "rtsim: check: 5 of 6 configs are not right"


def test_control_characters_in_a_config_are_not_obeyed(here, tmp_path):
    """Protects the terminal: a name that clears the screen is written with its codes, good or bad."""
    (tmp_path / "run.toml").write_text('name = "a\\u001b[2Jb"\n')
    (tmp_path / "bad.toml").write_text('name = "x"\n"\\u001b[2J" = 3\n')
    done = here("check", "run.toml", "bad.toml")
    assert done.out == "run.toml: run a\\x1b[2Jb\n"
    assert "\x1b" not in done.err


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_copy_with_one_key_too_many_is_refused(here, tmp_path, path):
    """Protects against typing errors in any kind of config."""
    copy = tmp_path / path.name
    copy.write_text("unheard_of = 1\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    done = here("check", copy)
    assert done.code == 1
    assert "unheard_of" in done.err
    assert "allowed: name" in done.err
