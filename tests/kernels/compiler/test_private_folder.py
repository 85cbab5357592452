"""Machine code is taken from nobody else: what strangers planted in the cache is never unpickled."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from kernels.compiler import cache, private_folder
from tests.kernels.compiler.test_cache import CALL, package, run  # noqa: F401 (a fixture)

settings: Any = numba.config
pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes are of POSIX")
STRANGER = 65534


class Planted:
    """Makes a folder where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.mark),)


def opened_folder(root: Path, folder: Path, file: Path) -> None:
    folder.chmod(0o777)


def opened_to_the_group(root: Path, folder: Path, file: Path) -> None:
    folder.chmod(0o770)


def opened_root(root: Path, folder: Path, file: Path) -> None:
    root.chmod(0o777)


def opened_root_that_is_sticky(root: Path, folder: Path, file: Path) -> None:
    root.chmod(0o1777)


def opened_parent(root: Path, folder: Path, file: Path) -> None:
    root.parent.chmod(0o777)


def opened_file(root: Path, folder: Path, file: Path) -> None:
    file.chmod(0o666)


def linked(path: Path) -> None:
    away = path.with_name(f"away-{path.name}")
    path.rename(away)
    path.symlink_to(away)


def linked_root(root: Path, folder: Path, file: Path) -> None:
    linked(root)


def linked_folder(root: Path, folder: Path, file: Path) -> None:
    linked(folder)


def linked_file(root: Path, folder: Path, file: Path) -> None:
    linked(file)


def foreign_root(root: Path, folder: Path, file: Path) -> None:
    os.chown(root, STRANGER, -1)


def foreign_parent(root: Path, folder: Path, file: Path) -> None:
    os.chown(root.parent, STRANGER, -1)


def foreign_folder(root: Path, folder: Path, file: Path) -> None:
    os.chown(folder, STRANGER, -1)


def foreign_file(root: Path, folder: Path, file: Path) -> None:
    os.chown(file, STRANGER, -1)


WAYS = (
    opened_folder, opened_to_the_group, opened_root, opened_root_that_is_sticky, opened_parent, opened_file,
    linked_root, linked_folder, linked_file, foreign_root, foreign_parent, foreign_folder, foreign_file,
)  # fmt: skip


def spoil(way: Callable[..., None], root: Path, folder: Path, file: Path) -> None:
    """Do it; files of somebody else can be made by root only."""
    if way.__name__.startswith("foreign") and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    way(root, folder, file)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache; what was found wrong with another one is forgotten before and after."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    cache._faults.clear()
    yield cache.cache_root()
    cache._faults.clear()


def kept_file(root: Path) -> tuple[cache._CodeFiles, Path]:
    """A kernel that is kept under the key "types", and its file."""
    folder = root / f"kernels.joints.tree-{'0' * cache.HASH_LENGTH}"
    files = cache._CodeFiles(folder, "two")
    files.save("types", b"code")
    (file,) = folder.iterdir()
    return files, file


@pytest.mark.skipif(settings.DISABLE_JIT, reason="the compiler is off")
@pytest.mark.process
@pytest.mark.parametrize("way", WAYS)
def test_what_strangers_planted_is_not_run(package: Path, way: Callable[..., None]) -> None:  # noqa: F811
    """Protects the user's account: code in a cache that others can write to is not even unpickled."""
    mark = package / "mark"
    plant = f"import kernels.compiler.cache as c; c.dumps = lambda data: {pickle.dumps(Planted(mark))!r}; "
    assert run(plant + CALL, package) == "6.0 0"
    root = package / "cache" / "kernels"
    (file,) = root.glob("kernels.caller-*/*two-*.nbc")
    for other in set(root.glob("*/*.nbc")) - {file}:
        other.unlink()
    if mark.exists():
        mark.rmdir()
    spoil(way, root, file.parent, file)
    told = "; import kernels.compiler.cache as c; print(c.cache_fault(), len(c._faults))"
    said = run(CALL + told, package)
    assert not mark.exists()
    assert said.startswith("6.0 0\n")
    assert "are not used, as somebody else may have put them there" in said
    assert "NUMBA_CACHE_DIR" in said


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("root")
def test_it_is_told_before_anything_is_loaded(root: Path, way: Callable[..., None]) -> None:
    """Protects patience and trust: the first look at the cache names what is wrong, where, and the remedy."""
    _, file = kept_file(root)
    assert cache.cache_fault() == ""
    spoil(way, root, file.parent, file)
    private_folder._check_above.cache_clear()
    said = cache.cache_fault()
    assert "NUMBA_CACHE_DIR" in said
    assert any(word in said for word in (" is a link", " belongs to ", "others may write to "))
    assert ("`rm -r " in said) or ("`chmod go-w " in said) or (way.__name__ == "foreign_parent")


def test_what_is_planted_is_seen_at_each_read(root: Path) -> None:
    """Protects long runs: what is opened to others after the first look is not read either."""
    files, file = kept_file(root)
    assert files.load("types") == b"code"
    file.chmod(0o646)
    assert files.load("types") is None
    assert "others may write to" in cache.cache_fault()


def test_folders_and_files_are_made_private_under_any_umask(root: Path) -> None:
    """Protects what is made from the start: also the folders above, of which there was none."""
    before = os.umask(0)
    try:
        _, file = kept_file(root)
        cache.mark_complete("simulation")
        assert cache.cache_fault() == ""
    finally:
        os.umask(before)
    assert cache.is_complete("simulation")
    made = [root.parent, *root.parent.rglob("*")]
    modes = {path.relative_to(root.parent): stat.S_IMODE(path.stat().st_mode) for path in made}
    assert set(modes.values()) == {0o700, 0o600}
    assert modes[file.relative_to(root.parent)] == 0o600


def test_a_file_in_the_place_of_another_is_not_taken(root: Path) -> None:
    """Protects from a kernel's code run as another's, as after a restored backup."""
    files, file = kept_file(root)
    other = cache._CodeFiles(root / f"kernels.joints.tree-{'1' * cache.HASH_LENGTH}", "two")
    other.save("types", b"others")
    file.write_bytes(next(other._folder.iterdir()).read_bytes())
    assert files.load("types") is None


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    """Protects a start: a pipe in the place of machine code is as none."""
    files, file = kept_file(root)
    file.unlink()
    os.mkfifo(file, 0o600)
    assert files.load("types") is None


def test_groups_of_a_stranger_are_not_believed(root: Path) -> None:
    """Protects the first call in a loop: a link that says that all is compiled says nothing."""
    cache.mark_complete("simulation")
    linked(cache._group_folder("simulation"))
    assert not cache.is_complete("simulation")
    assert " is a link" in cache.cache_fault()


def test_pruning_follows_no_link_and_leaves_what_is_others(root: Path, tmp_path: Path) -> None:
    """Protects other folders: a link in the cache is not followed, a folder of somebody else is left."""
    _, file = kept_file(root)
    away = tmp_path / "away"
    away.mkdir()
    (away / "notes").touch()
    link = root / f"kernels.link-{'0' * cache.HASH_LENGTH}"
    link.symlink_to(away)
    open_to_others = root / f"kernels.open-{'0' * cache.HASH_LENGTH}"
    open_to_others.mkdir()
    open_to_others.chmod(0o777)
    (file.parent / "link").symlink_to(away)
    assert cache.prune_cache(-60.0) == 1
    assert not file.exists()
    assert (away / "notes").exists()
    assert link.is_symlink()
    assert open_to_others.exists()


@pytest.mark.parametrize("way", [opened_root, linked_root, foreign_root])
def test_a_cache_of_others_is_not_pruned(root: Path, way: Callable[..., None]) -> None:
    """Protects files of others: in a root that is not private nothing is removed."""
    _, file = kept_file(root)
    spoil(way, root, file.parent, file)
    assert cache.prune_cache(-60.0) == 0
    assert file.exists()


def test_a_kernel_is_never_written_through_a_link(root: Path, tmp_path: Path) -> None:
    """Protects other files: what is kept replaces a link, and does not follow it."""
    files, file = kept_file(root)
    precious = tmp_path / "precious"
    precious.write_text("mine")
    file.unlink()
    file.symlink_to(precious)
    files.save("types", b"code")
    assert precious.read_text() == "mine"
    assert files.load("types") == b"code"
