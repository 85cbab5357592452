"""How kernels are compiled: where the machine code is kept, that nothing allocates, and the freeze."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import NumbaError

import kernels
from kernels import _jit, rotation
from tests.kernels import leg

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path.name for path in (ROOT / "kernels").glob("*.py"))
settings: Any = numba.config  # its names are made when Numba is imported
compiler = pytest.mark.skipif(settings.DISABLE_JIT, reason="the compiler is off")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the kernels that may be edited."""
    folder = tmp_path / "kernels"
    shutil.copytree(ROOT / "kernels", folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels made by a test are forgotten after it."""
    monkeypatch.setattr(_jit, "_COMPILED", [])


@pytest.fixture
def frozen() -> Iterator[None]:
    """Compilation is allowed again after the test."""
    yield
    _jit.allow_compilation()


def loaded(folder: Path) -> ModuleType:
    """Return the module that compiles, from another folder."""
    spec = importlib.util.spec_from_file_location("copied_jit", folder / "_jit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(code: str, folder: Path, **environment: str) -> str:
    """Return what a new process prints that imports kernels from a folder."""
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


def test_kernels_are_ours() -> None:
    """Protects against the package of the same name on the package index."""
    assert kernels.__file__ is not None
    assert Path(kernels.__file__).resolve() == ROOT / "kernels" / "__init__.py"


@pytest.mark.parametrize("name", SOURCES)
def test_cache_folder_depends_on_every_source(name: str, copied: Path) -> None:
    """Protects against stale machine code: a comment in any kernel file makes another folder."""
    module = loaded(copied)
    before = module.source_hash()
    assert before == module.source_hash()
    with (copied / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert module.source_hash() != before


def test_cache_folder_depends_on_new_and_renamed_files(copied: Path) -> None:
    """Protects against stale machine code where a file appears or is renamed with the same text."""
    module = loaded(copied)
    hashes = {module.source_hash()}
    (copied / "linear.py").rename(copied / "dense.py")
    hashes.add(module.source_hash())
    (copied / "extra.py").write_text("", encoding="utf-8")
    hashes.add(module.source_hash())
    assert len(hashes) == 3


@pytest.mark.parametrize("flag", _jit.CODE_FLAGS)
def test_cache_folder_depends_on_every_flag(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects checked code from being replaced by unchecked code, and the other way round."""
    monkeypatch.delenv(flag, raising=False)
    hashes = {_jit.source_hash()}
    for value in ("0", "1"):
        monkeypatch.setenv(flag, value)
        hashes.add(_jit.source_hash())
    assert len(hashes) == 3


def test_cache_root_follows_the_usual_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects the override that services with a read-only home need."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert _jit.cache_root() == tmp_path / "kernels"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert "rtsim" in str(_jit.cache_root())
    assert len(_jit.cache_folder().name) == _jit.HASH_LENGTH


def test_old_caches_are_pruned_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects the disk from old caches, and what is not one: that in use, young ones, others'."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    root = tmp_path / "kernels"
    in_use, old, young, other = (
        root / name for name in (_jit.cache_folder().name, "0" * 16, "1" * 16, "notes")
    )
    for folder in (in_use, old, young, other):
        folder.mkdir(parents=True)
        (folder / "code").touch()
    long_ago = time.time() - 30 * 86400.0
    for folder in (in_use, old, other):
        os.utime(folder, (long_ago, long_ago))
    assert _jit.prune_cache() == 1
    assert not old.exists()
    assert in_use.exists()
    assert young.exists()
    assert other.exists()


@compiler
def test_machine_code_lands_in_the_cache_folder() -> None:
    """Protects other users of Numba: kernels have their folder, Numba's own setting is as before."""
    assert str(_jit.cache_folder()) in rotation.rotate.stats.cache_path  # type: ignore[attr-defined]
    assert str(_jit.cache_folder()) != settings.CACHE_DIR


@compiler
@pytest.mark.process
def test_edited_helper_is_compiled_anew_in_its_callers(tmp_path: Path) -> None:
    """Protects against Numba's stale cache: a caller in another file sees the edited helper."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("__init__.py", "_jit.py"):
        shutil.copy(ROOT / "kernels" / name, folder / name)
    head = "from kernels._jit import njit\n"
    helper, caller = folder / "helper.py", folder / "caller.py"
    caller.write_text(head + "from kernels.helper import one\n@njit\ndef two(x):\n    return 2.0 * one(x)\n")
    answers = []
    for text in ("x", "x + 1.0"):
        helper.write_text(head + f"@njit\ndef one(x):\n    return {text}\n")
        answers.append(run("from kernels.caller import two; print(two(3.0))", tmp_path))
    assert answers == ["6.0", "8.0"]
    assert len(list((tmp_path / "cache" / "kernels").iterdir())) == 2


@compiler
@pytest.mark.process
def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    """Protects the start-up time: a second process takes the machine code from the cache."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    for name in ("__init__.py", "_jit.py", "rotation.py"):
        shutil.copy(ROOT / "kernels" / name, folder / name)
    code = (
        "import numpy as np; from kernels.rotation import rotate; y = np.zeros(3); "
        "rotate(np.eye(3), np.ones(3), y); "
        "print(sum(rotate.stats.cache_hits.values()), sum(rotate.stats.cache_misses.values()), y.sum())"
    )
    assert [run(code, tmp_path) for _ in range(2)] == ["0 1 3.0", "1 0 3.0"]


@compiler
@pytest.mark.usefixtures("own_list")
@pytest.mark.parametrize("text", ["np.zeros(3)", "x + x", "x.copy()", "[x[0], x[1]]"])
def test_kernel_that_allocates_does_not_compile(text: str, tmp_path: Path) -> None:
    """Protects the live loop: an allocation is an error when a kernel is compiled, not a pause later."""
    source = tmp_path / "allocating.py"
    source.write_text(f"import numpy as np\n\ndef allocating(x):\n    y = {text}\n    return y[0]\n")
    spec = importlib.util.spec_from_file_location("allocating", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = _jit.entry(module.allocating)
    with pytest.raises((NumbaError, RuntimeError)):
        kernel(np.ones(3))


@compiler
@pytest.mark.usefixtures("own_list")
def test_guards_survive_fast_arithmetic(tmp_path: Path) -> None:
    """Protects isfinite and comparisons with NaN, which full fast arithmetic would delete."""
    source = tmp_path / "guards.py"
    source.write_text(
        "import math\n\ndef guards(x):\n    return math.isfinite(x), x == x, not x > 0.0, 1.0 / x\n"
    )
    spec = importlib.util.spec_from_file_location("guards", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = _jit.entry(module.guards)
    assert kernel(np.nan)[:3] == (False, False, True)
    assert kernel(np.inf)[:3] == (False, True, False)
    assert kernel(0.0)[3] == np.inf  # division by zero is IEEE's, not an exception


def live_frames(running: Any, n: int) -> None:
    """Run frames of all kinds: clean, occluded, displaced, swapped, empty, late."""
    markers = leg.exact_trial().markers
    for k in range(n):
        for fault in ("", "hide", "move", "swap", "empty"):
            measured = markers[k].copy()
            if fault == "hide":
                measured[2] = np.nan
            elif fault == "move":
                measured[5] += 0.3
            elif fault == "swap":
                measured[[0, 7]] = measured[[7, 0]]
            elif fault == "empty":
                measured[:] = np.nan
            running.estimate(measured, 0.0 if k == 0 else 0.01)


@compiler
@pytest.mark.usefixtures("frozen")
def test_nothing_is_compiled_after_warm_up() -> None:
    """Protects the live loop from a compiler's pause: all methods and faults run on code that is there."""
    running = leg.estimator("zero", leg.METHODS)
    for method in leg.METHODS:
        running.switch(method)
        live_frames(running, 2)
    before = _jit.n_compiled()
    _jit.freeze_compilation()
    assert before > 0
    for method in leg.METHODS:
        running.switch(method)
        live_frames(running, 2)
        running.restart()
    running.set_downweighting(False)
    live_frames(running, 2)
    assert _jit.n_compiled() == before


@compiler
@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("wrong", ["float32", "strided", "int", "read-only"])
def test_frozen_kernels_refuse_other_types(wrong: str) -> None:
    """Protects the freeze: an array of another type is a TypeError, until compiling is allowed."""
    R, y = np.eye(3), np.zeros(3)
    rotation.rotate(R, np.ones(3), y)
    x: Any = {
        "float32": np.ones(3, np.float32),
        "strided": np.ones(6)[::2],
        "int": np.ones(3, np.int64),
        "read-only": np.ones(3),
    }[wrong]
    x.flags.writeable = wrong != "read-only"
    n_compiled = _jit.n_compiled()
    signatures = list(rotation.rotate.signatures)  # type: ignore[attr-defined]
    known = any(str(numba.typeof(x)) in str(signature) for signature in signatures)
    _jit.freeze_compilation()
    if not known:
        with pytest.raises(TypeError):
            rotation.rotate(R, x, y)
    assert _jit.n_compiled() == n_compiled
    rotation.rotate(R, np.ones(3), y)
    _jit.allow_compilation()
    rotation.rotate(R, x, y)
    np.testing.assert_array_equal(y, 1.0)


@compiler
def test_bound_entry_is_the_kernel() -> None:
    """Protects the call without dispatch: same answer, compiled once, also for a signature that is there."""
    x, y = np.ones(3), np.zeros(3)
    bound = _jit.bind(rotation.rotate, (np.eye(3), x, y))
    bound(2.0 * np.eye(3), x, y)
    np.testing.assert_array_equal(y, 2.0)
    before = len(rotation.rotate.signatures)  # type: ignore[attr-defined]
    again = _jit.bind(rotation.rotate, (np.eye(3), x, y))
    again(3.0 * np.eye(3), x, y)
    np.testing.assert_array_equal(y, 3.0)
    assert len(rotation.rotate.signatures) == before  # type: ignore[attr-defined]


def test_binding_without_the_compiler_is_the_function() -> None:
    """Protects the suite with the compiler off: a plain function is returned as it is."""

    def plain(x: float) -> float:
        return x

    assert _jit.bind(plain, (1.0,)) is plain


@pytest.mark.process
def test_kernels_run_without_the_compiler(tmp_path: Path) -> None:
    """Protects debugging: with the compiler off every kernel is a plain Python function."""
    code = "from kernels import rotation; import types; print(type(rotation.rotate) is types.FunctionType)"
    assert run(code, ROOT, NUMBA_DISABLE_JIT="1", NUMBA_CACHE_DIR=str(tmp_path)) == "True"


@compiler
@pytest.mark.process
def test_bounds_are_checked_on_request(tmp_path: Path) -> None:
    """Protects the checked run: with NUMBA_BOUNDSCHECK=1 an index outside raises, from a cache of its own."""
    code = (
        "import numpy as np; from kernels.rotation import rotate\n"
        "try:\n    rotate(np.eye(3), np.ones(2), np.zeros(3)); print('silent')\n"
        "except IndexError:\n    print('raised')"
    )
    assert run(code, ROOT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == "raised"
