"""Files that are to be written: where that cannot be, it is said before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files.output import check_folder, check_free


def test_a_folder_that_takes_nothing_is_told_before_the_work(tmp_path: Path, monkeypatch) -> None:
    """Protects the result of a long run: a folder without the right to write is refused at its start."""

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    said = rf"a.toml cannot be written into {tmp_path} \(Permission denied\); give another folder or name"
    with pytest.raises(ConfigError, match=said):
        check_free(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match=r"--out: a\.mot cannot be written"):
        check_folder(tmp_path / "a.mot", "--out")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
def test_a_folder_that_only_looks_writable_is_told_before_the_work() -> None:
    """Protects from folders that grant the right to write and take no file, as /proc does to root."""
    with pytest.raises(ConfigError, match=r"x.toml cannot be written into /proc \("):
        check_free(Path("/proc/x.toml"))


def test_trying_leaves_nothing_behind(tmp_path: Path) -> None:
    """Protects folders from what was only tried, and tells a name that is too long for a file."""
    check_free(tmp_path / "a.toml")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match="cannot be written into"):
        check_folder(tmp_path / f"{'a' * 300}.mot", "--out")
