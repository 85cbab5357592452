"""Files that are whole whatever ends their writer, and what a killed one leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import streams.whole_file
from streams.access.key_files import create_keys, load_pair, load_public
from streams.whole_file import LEFT_S, part_of, remove_leftovers, whole_file

KILLED_AT = """if True:
    import resource, signal, sys
    from pathlib import Path
    sys.dont_write_bytecode = True
    from streams.access.key_files import create_keys
    from streams.whole_file import whole_file
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel ends the process at that byte
    n = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
    if sys.argv[1] == "keys":
        create_keys("lab", "own")
    else:
        with whole_file(Path(sys.argv[1])) as part, part.open("wb") as file:
            for _ in range(100):
                file.write(bytes(10))
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and removal of another kind")


def killed_at(folder: Path, what: str, n_byte: int) -> int:
    """How a process ends that writes a file in a folder and is killed at a byte."""
    root = str(Path(streams.whole_file.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", KILLED_AT, what, str(n_byte)], cwd=folder, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": root},
    ).returncode  # fmt: skip


def removing(folder: Path) -> int:
    """How a process ends that removes what killed writers left in a folder."""
    root = str(Path(streams.whole_file.__file__).parents[1])
    words = "import sys; from pathlib import Path; from streams.whole_file import remove_leftovers as remove"
    return subprocess.run(
        [sys.executable, "-c", f"{words}; remove(Path(sys.argv[1]))", str(folder)], check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": root},
    ).returncode  # fmt: skip


@posix
@pytest.mark.parametrize("n_byte", [0, 1, 500, 999])
def test_a_writer_killed_at_a_byte_leaves_the_old_file(tmp_path: Path, n_byte: int) -> None:
    """Protects what was there: a killed writer changes nothing under the name, and its part goes later."""
    path = tmp_path / "walk.c3d"
    path.write_bytes(b"before")
    assert killed_at(tmp_path, "walk.c3d", n_byte) == -signal.SIGXFSZ
    assert path.read_bytes() == b"before"
    (part,) = (other for other in tmp_path.iterdir() if other != path)
    assert part.stat().st_size == n_byte
    remove_leftovers(tmp_path)
    assert part.exists()  # somebody may be writing it
    old = time.time() - LEFT_S - 1.0
    os.utime(part, (old, old))
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_writer_with_room_writes_the_new_file(tmp_path: Path) -> None:
    """Protects the test above: with one more byte of room the same writer is done."""
    assert killed_at(tmp_path, "walk.c3d", 1000) == 0
    assert (tmp_path / "walk.c3d").read_bytes() == bytes(1000)
    assert len(list(tmp_path.iterdir())) == 1


@posix
@pytest.mark.parametrize("n_byte", [0, 1, 60, 150, 200])
def test_keys_killed_at_a_byte_are_whole_or_not_there(tmp_path: Path, n_byte: int) -> None:
    """Protects from half a key under its name, which would refuse everybody and could not be made again."""
    assert killed_at(tmp_path, "keys", n_byte) == -signal.SIGXFSZ
    assert sorted(path.suffix for path in (tmp_path / "lab").iterdir()) == [".part"]
    (part,) = (tmp_path / "lab").iterdir()
    assert part.stat().st_mode & 0o077 == 0
    public, secret = create_keys(tmp_path / "lab", "own")
    assert load_pair(secret)[0] == load_public(public)


def test_the_next_writer_removes_what_killed_ones_left(tmp_path: Path, monkeypatch) -> None:
    """Protects folders from litter, and files of other names, links and folders from being taken for it."""
    monkeypatch.setattr(streams.whole_file, "_looked", set())
    left, mine = part_of(tmp_path / "a"), tmp_path / ".0123456789abcdef.part.txt"
    folder = tmp_path / ".0123456789abcdef.part"
    folder.mkdir()
    mine.touch()
    old = time.time() - LEFT_S - 1.0
    for path in (left, mine, folder):
        os.utime(path, (old, old))
    kept = [mine, folder]
    if os.name == "posix":
        link = tmp_path / ".1123456789abcdef.part"
        link.symlink_to(mine)
        os.utime(link, (old, old), follow_symlinks=False)
        kept.append(link)
    monkeypatch.setattr(streams.whole_file, "_looked", set())
    with whole_file(tmp_path / "b") as part:
        part.write_bytes(b"new")
    assert sorted(tmp_path.iterdir()) == sorted([*kept, tmp_path / "b"])


@pytest.mark.skipif(sys.platform not in ("linux", "win32"), reason="the age of a part alone counts")
def test_a_part_that_somebody_writes_stays_however_old_it_looks(tmp_path: Path) -> None:
    """Protects writers from clocks that are set, clocks of shares, and long suspension."""
    path = tmp_path / "a"
    with whole_file(path) as part:
        part.write_bytes(b"new")  # opened and closed, as every writer does
        old = time.time() - LEFT_S - 1.0
        os.utime(part, (old, old))
        assert removing(tmp_path) == 0
        assert part.exists()
    assert path.read_bytes() == b"new"
    left = part_of(path)  # nobody writes it
    os.utime(left, (old, old))
    assert removing(tmp_path) == 0
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_writer_whose_part_is_gone_is_told(tmp_path: Path) -> None:
    """Protects from success without a file, where somebody removed the part: the old file is as it was."""
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with pytest.raises(FileNotFoundError), whole_file(path) as part:
        part.unlink()
    assert path.read_bytes() == b"before"


def test_what_the_disk_refuses_at_last_replaces_nothing(tmp_path: Path, monkeypatch) -> None:
    """Protects from disks that are full only when the content is brought to them, as over a network."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "a"
    path.write_bytes(b"before")
    monkeypatch.setattr(streams.whole_file.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), whole_file(path) as part:
        part.write_bytes(b"new")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
