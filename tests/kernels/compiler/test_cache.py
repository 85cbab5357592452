"""Where machine code is kept: stale never, shared where it may be, and told where it cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from kernels.algebra import rotation
from kernels.compiler import cache, sources

ROOT = Path(__file__).resolve().parents[3]
settings: Any = numba.config
compiler = pytest.mark.skipif(settings.DISABLE_JIT, reason="the compiler is off")
HEAD = "from kernels.compiler.jit import njit\n"
CALL = "from kernels.caller import two; print(two(3.0), sum(two.stats.cache_hits.values()))"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small package `kernels` of two modules, one calling the other, and a third that stands apart."""
    folder = tmp_path / "kernels"
    shutil.copytree(
        ROOT / "kernels" / "compiler", folder / "compiler", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "kernels" / "__init__.py", folder)
    (folder / "helper.py").write_text(HEAD + "@njit\ndef one(x):\n    return x\n")
    (folder / "caller.py").write_text(
        HEAD + "from kernels.helper import one\n@njit\ndef two(x):\n    return 2.0 * one(x)\n"
    )
    (folder / "apart.py").write_text(HEAD + "@njit\ndef three(x):\n    return 3.0 * x\n")
    return tmp_path


@pytest.fixture
def fresh() -> Iterator[None]:
    """What was found wrong with the cache is forgotten before and after."""
    cache._faults.clear()
    yield
    cache._faults.clear()


def run(code: str, folder: Path, **environment: str) -> str:
    """What a new process prints that imports kernels from a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@compiler
@pytest.mark.process
def test_an_edit_is_compiled_anew_in_all_that_depend_on_it(package: Path) -> None:
    """Protects against stale machine code: a caller in another file sees the edited module."""
    assert run(CALL, package) == "6.0 0"
    (package / "kernels" / "helper.py").write_text(HEAD + "@njit\ndef one(x):\n    return x + 1.0\n")
    assert run(CALL, package) == "8.0 0"


@compiler
@pytest.mark.process
def test_an_edit_leaves_what_does_not_depend_on_it(package: Path) -> None:
    """Protects the compile time: kernels that do not import an edited module come from the cache."""
    assert run(CALL, package) == "6.0 0"
    with (package / "kernels" / "apart.py").open("a") as file:
        file.write("# edited\n")
    assert run(CALL, package) == "6.0 1"


@compiler
@pytest.mark.process
def test_another_checkout_shares_the_code(package: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Protects the compile time: the same sources elsewhere, with other time stamps, compile nothing."""
    assert run(CALL, package) == "6.0 0"
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(package / "kernels", other / "kernels", copy_function=shutil.copyfile)
    assert run(CALL, other, NUMBA_CACHE_DIR=str(package / "cache")) == "6.0 1"


@compiler
@pytest.mark.process
def test_damaged_code_is_compiled_anew(package: Path) -> None:
    """Protects a start after a full disk or a crash: the code of a cut file is made and kept again."""
    assert run(CALL, package) == "6.0 0"
    files = sorted((package / "cache").rglob("*two*.nbc"))
    assert files
    files[0].write_bytes(files[0].read_bytes()[:100])
    assert run(CALL, package) == "6.0 0"
    assert run(CALL, package) == "6.0 1"


@compiler
@pytest.mark.process
@pytest.mark.parametrize("damage", ["cut", "removed"])
def test_a_caller_whose_callee_is_damaged_is_compiled_anew(package: Path, damage: str) -> None:
    """Protects a start after a crash: a file names those of what it calls, and one of these is not whole."""
    assert run(CALL, package) == "6.0 0"
    (file,) = (package / "cache").rglob("*one-*.nbc")
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
    for entry in (package / "cache").rglob("*from_python*.nbc"):
        entry.unlink()
    assert run(CALL, package) == "6.0 0"
    assert run(CALL, package) == "6.0 1"


@compiler
@pytest.mark.process
def test_what_two_processes_compiled_fits_together(package: Path) -> None:
    """Protects tests and runs that start at once: a caller of one calls what the other has written."""
    apart = "from kernels.apart import three; three(1.0); "  # the kernels come in another order
    assert run(apart + CALL, package, NUMBA_CACHE_DIR=str(package / "other")) == "6.0 0"
    assert run(CALL, package) == "6.0 0"
    (written,) = (package / "other").rglob("*one-*.nbc")
    (file,) = (package / "cache").rglob("*one-*.nbc")
    file.write_bytes(written.read_bytes())
    for entry in (package / "cache").rglob("*from_python*.nbc"):
        entry.unlink()
    assert run(CALL, package) == "6.0 1"


def test_no_damage_is_taken_for_code(tmp_path: Path) -> None:
    """Protects that start from every damage: a cut, longer, empty, foreign file, one of any byte flipped."""
    files = cache._CodeFiles(tmp_path, "two")
    files.save(("types",), b"code")
    assert files.load(("types",)) == b"code"
    assert files.load(("other types",)) is None
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    flipped = [whole[:k] + bytes((whole[k] ^ 4,)) + whole[k + 1 :] for k in range(len(whole))]
    for damage in (b"", whole[:-3], whole + b"x", b"not machine code", b"L\n", *flipped):
        file.write_bytes(damage)
        assert files.load(("types",)) is None
    file.write_bytes(whole)
    assert files.load(("types",)) == b"code"


@compiler
@pytest.mark.process
def test_groups_with_other_field_names_do_not_share_code(package: Path) -> None:
    """Protects against a group of arrays whose fields changed their order and kept their types."""
    code = (
        "from typing import NamedTuple\nfrom kernels.first import first\n"
        "class Pair(NamedTuple):\n    {}: float\n    {}: float\n"
        "print(first(Pair(1.0, 2.0)), sum(first.stats.cache_hits.values()))"
    )
    (package / "kernels" / "first.py").write_text(HEAD + "@njit\ndef first(pair):\n    return pair.a\n")
    assert run(code.format("a", "b"), package) == "1.0 0"
    assert run(code.format("b", "a"), package) == "2.0 0"


@pytest.mark.parametrize("flag", sources.CODE_FLAGS)
def test_code_depends_on_every_flag(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects checked code from being replaced by unchecked code, and the other way round."""
    path = Path(rotation.__file__ or "")
    hashes = set()
    for value in (None, "0", "1"):
        if value is None:
            monkeypatch.delenv(flag, raising=False)
        else:
            monkeypatch.setenv(flag, value)
        sources.module_hash.cache_clear()
        hashes.add(sources.module_hash(path))
    monkeypatch.undo()
    sources.module_hash.cache_clear()
    assert len(hashes) == 3


@pytest.mark.parametrize("flag", sources.PROCESSOR_FLAGS)
def test_a_group_of_another_processor_is_not_complete(
    flag: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Protects computers that share a home: what one compiled, another compiles with its bar."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.mark_complete("solver")
    assert cache.is_complete("solver")
    monkeypatch.setenv(flag, "0")
    assert not cache.is_complete("solver")
    monkeypatch.delenv(flag)
    monkeypatch.setattr(sources.binding, "get_host_cpu_name", lambda: "another")
    assert not cache.is_complete("solver")


def test_the_cache_follows_the_usual_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects the override that services with a read-only home need."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cache.cache_root() == tmp_path / "kernels"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert "rtsim" in str(cache.cache_root())


def test_old_code_is_pruned_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects the disk from old code, and what is not old or not ours from being removed."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    root = tmp_path / "kernels"
    old, young, other = (
        root / name
        for name in ("kernels.joints.tree-" + "0" * 16, "kernels.joints.tree-" + "1" * 16, "notes")
    )
    for folder in (old, young, other):
        folder.mkdir(parents=True)
        (folder / "code").touch()
    long_ago = time.time() - 30 * 86400.0
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    assert cache.prune_cache() == 1
    assert not old.exists()
    assert young.exists()
    assert other.exists()


@pytest.mark.usefixtures("fresh")
def test_a_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects from starts that compile for a minute every time, in silence: the sentence has the remedy."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert "NUMBA_CACHE_DIR" in cache.cache_fault()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache._faults.clear()
    assert cache.cache_fault() == ""


@compiler
@pytest.mark.process
def test_kernels_work_where_nothing_can_be_kept(package: Path) -> None:
    """Protects a user without a writable folder: kernels compile, and are compiled again the next time."""
    (package / "file").touch()
    for _ in range(2):
        assert run(CALL, package, NUMBA_CACHE_DIR=str(package / "file")) == "6.0 0"


@compiler
def test_machine_code_lands_in_its_folder() -> None:
    """Protects other users of Numba: kernels have their folder, Numba's own setting is untouched."""
    folder = rotation.rotate.stats.cache_path  # type: ignore[attr-defined]
    assert str(cache.cache_root()) in folder
    assert sources.module_hash(Path(rotation.__file__ or "")) in folder
    assert os.environ.get("NUMBA_CACHE_DIR", "") == settings.CACHE_DIR
