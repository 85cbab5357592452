"""Files that are to be written: where that cannot be, it is said before the work."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.files import output
from rtsim.files.output import check_folder, check_free, part_of, write_text


def test_a_folder_that_takes_nothing_is_told_before_the_work(tmp_path: Path, monkeypatch) -> None:
    """Protects the result of a long run: a folder without the right to write is refused at its start."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(output.os, "open", refuse)
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


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pipes with names among files")
def test_what_is_no_regular_file_is_told_before_the_work(tmp_path: Path) -> None:
    """Protects from results that would replace a device; a log is opened in place, and may go into one."""
    for name, make in {"pipe.mot": os.mkfifo, "null.mot": lambda path: path.symlink_to(os.devnull)}.items():
        path = tmp_path / name
        make(path)
        with pytest.raises(ConfigError, match=f"--out: {name} is not a regular file"):
            check_folder(path, "--out")
        with pytest.raises(ConfigError, match=f"{name} is not a regular file"):
            check_free(path, overwrite=True)
    check_folder(tmp_path / "null.mot", "--log", in_place=True)
    with pytest.raises(ConfigError, match=r"--log: pipe\.mot is a pipe or a socket"):
        check_folder(tmp_path / "pipe.mot", "--log", in_place=True)


def test_a_file_that_is_opened_in_place_needs_the_right_to_write(tmp_path: Path, monkeypatch) -> None:
    """Protects logs and pictures from a file that cannot be opened, which a new one could replace."""
    path = tmp_path / "a.png"
    path.touch(0o444)
    monkeypatch.setattr(output.os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match=r"--plot: a\.png cannot be written into .*Permission denied"):
        check_folder(path, "--plot", in_place=True)
    check_folder(path, "--out")


def test_what_a_file_is_written_as_is_its_own(tmp_path: Path) -> None:
    """Protects parts of other processes, long names, and the rights of a new file."""
    long = tmp_path / f"{'a' * 251}.mot"
    others = part_of(long)
    check_folder(long, "--out")
    write_text(long, ["1", "2"])
    assert long.read_text() == "12"
    assert others.exists()
    others.unlink()
    assert list(tmp_path.iterdir()) == [long]
    (tmp_path / "plain").touch()
    mode = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    if os.name == "posix":  # as of any new file, less what other users would have had
        assert stat.S_IMODE(long.stat().st_mode) == mode & ~0o117
        long.chmod(0o644)
        write_text(long, "34")
        assert stat.S_IMODE(long.stat().st_mode) == 0o644  # its owner's choice
    with pytest.raises(ConfigError, match="cannot be written"):
        write_text(tmp_path / "none" / "a.mot", "")
