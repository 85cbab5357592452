"""How kernels are compiled: that nothing allocates, one version for every constant, and the freeze."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import NumbaError

import kernels
from kernels.algebra import rotation
from kernels.compiler import jit
from tests.kernels import leg

ROOT = Path(__file__).resolve().parents[3]
settings: Any = numba.config  # its names are made when Numba is imported
compiler = pytest.mark.skipif(settings.DISABLE_JIT, reason="the compiler is off")


@pytest.fixture
def own_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels made by a test are forgotten after it."""
    monkeypatch.setattr(jit, "_COMPILED", [])


@pytest.fixture
def frozen() -> Iterator[None]:
    """Compilation is allowed again after the test."""
    yield
    jit.allow_compilation()


def loaded(path: Path) -> Any:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
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


@compiler
@pytest.mark.usefixtures("own_list")
@pytest.mark.parametrize("text", ["np.zeros(3)", "x + x", "x.copy()", "[x[0], x[1]]"])
def test_kernel_that_allocates_does_not_compile(text: str, tmp_path: Path) -> None:
    """Protects the live loop: an allocation is an error when a kernel is compiled, not a pause later."""
    source = tmp_path / "allocating.py"
    source.write_text(f"import numpy as np\n\ndef allocating(x):\n    y = {text}\n    return y[0]\n")
    module = loaded(source)
    kernel = jit.entry(module.allocating)
    with pytest.raises((NumbaError, RuntimeError)):
        kernel(np.ones(3))


@compiler
@pytest.mark.usefixtures("own_list")
def test_a_constant_argument_makes_no_version_of_its_own(tmp_path: Path) -> None:
    """Protects the compile time: a kernel called with a constant and with a variable is compiled once."""
    source = tmp_path / "constants.py"
    source.write_text(
        "from kernels.compiler.jit import entry, njit\n\n@njit\ndef twice(n):\n    return 2 * n\n\n"
        "@entry\ndef both(n):\n    return twice(3) + twice(n)\n"
    )
    module = loaded(source)
    assert module.both(4) == 14
    assert len(module.twice.signatures) == 1


INNER = """
from kernels.compiler.jit import entry, inlined, njit

@njit
def difference(x, y):
    return x - y

@inlined
def half(x):
    return 0.5 * x

@entry
def half_difference(x, y):
    return half(difference(x, y))
"""


@compiler
@pytest.mark.usefixtures("own_list")
@pytest.mark.parametrize("first", ["the kernel", "its caller"])
def test_python_may_call_what_kernels_call(first: str, tmp_path: Path) -> None:
    """Protects the tests of inner kernels: the code that other kernels call is called, for any types, by
    position or name.
    """
    source = tmp_path / "inner.py"
    source.write_text(INNER)
    module = loaded(source)
    if first == "its caller":
        assert module.half_difference(3.0, 1.0) == 1.0
    assert module.difference(3.0, 1.0) == 2.0
    assert module.difference(y=3.0, x=1.0) == -2.0
    assert module.half(3.0) == 1.5
    assert module.half_difference(5.0, 1.0) == 2.0
    assert len(module.difference.signatures) == 1
    assert isinstance(module.difference(7, 1), int)
    assert len(module.difference.signatures) == 2


@compiler
@pytest.mark.usefixtures("own_list")
def test_machine_code_is_made_once_for_all_levels_of_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the compile time: an entry is translated with all below it, and nothing below it by itself."""
    translated = []
    translate = JITCodeLibrary._finalize_specific

    def noted(library: Any) -> None:
        translated.append(library.name)
        translate(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", noted)
    source = tmp_path / "levels.py"
    source.write_text(INNER)
    assert loaded(source).half_difference(3.0, 1.0) == 1.0
    assert translated == ["half_difference"]


@compiler
@pytest.mark.process
def test_an_inner_kernel_that_python_calls_is_kept(tmp_path: Path) -> None:
    """Protects the compile time of the tests: a second process compiles neither the kernel nor its entry."""
    (tmp_path / "inner.py").write_text(INNER)
    code = (
        "from kernels.compiler.cache import tell_compiled\nfound = []\ntell_compiled(found.append)\n"
        "import inner\nprint(inner.difference(3.0, 1.0), *found)"
    )
    where = os.pathsep.join((str(tmp_path), str(ROOT)))
    assert run(code, tmp_path, PYTHONPATH=where) == "2.0 inner.difference inner.difference.from_python"
    assert run(code, tmp_path, PYTHONPATH=where) == "2.0"


@compiler
@pytest.mark.usefixtures("own_list")
def test_reachable_kernels_are_those_that_are_called(tmp_path: Path) -> None:
    """Protects the count that a first start shows: a kernel and what it calls, nothing that is left out."""
    source = tmp_path / "calls.py"
    source.write_text(
        "from kernels.compiler.jit import entry, njit\n\n@njit\ndef low(x):\n    return x\n\n"
        "@njit\ndef middle(x):\n    return low(x)\n\n@njit\ndef apart(x):\n    return low(x)\n\n"
        "@entry\ndef top(x):\n    return middle(x) + low(x)\n"
    )
    module = loaded(source)

    def names(**left_out: Any) -> set[str]:
        return {kernel.py_func.__name__ for kernel in jit.reachable([module.top], **left_out)}

    assert names() == {"top", "middle", "low"}
    assert names(without=[module.middle, module.low]) == {"top"}


@compiler
@pytest.mark.usefixtures("own_list")
def test_guards_survive_fast_arithmetic(tmp_path: Path) -> None:
    """Protects isfinite and comparisons with NaN, which full fast arithmetic would delete."""
    source = tmp_path / "guards.py"
    source.write_text(
        "import math\n\ndef guards(x):\n    return math.isfinite(x), x == x, not x > 0.0, 1.0 / x\n"
    )
    module = loaded(source)
    kernel = jit.entry(module.guards)
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
    before = jit.n_compiled()
    jit.freeze_compilation()
    assert before > 0
    for method in leg.METHODS:
        running.switch(method)
        live_frames(running, 2)
        running.restart()
    running.set_downweighting(False)
    live_frames(running, 2)
    assert jit.n_compiled() == before


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
    n_compiled = jit.n_compiled()
    signatures = list(rotation.rotate.signatures)  # type: ignore[attr-defined]
    known = any(str(numba.typeof(x)) in str(signature) for signature in signatures)
    jit.freeze_compilation()
    if not known:
        with pytest.raises(TypeError):
            rotation.rotate(R, x, y)
    assert jit.n_compiled() == n_compiled
    rotation.rotate(R, np.ones(3), y)
    jit.allow_compilation()
    rotation.rotate(R, x, y)
    np.testing.assert_array_equal(y, 1.0)


@compiler
@pytest.mark.usefixtures("own_list")
def test_bound_entry_is_the_kernel(tmp_path: Path) -> None:
    """Protects the call without dispatch: same answer, compiled once, also for a signature that is there."""
    source = tmp_path / "scaling.py"
    source.write_text(
        "from kernels.compiler.jit import entry\n\n@entry\ndef scale(x, factor):\n    x[0] *= factor\n"
    )
    scale = loaded(source).scale
    x = np.ones(1)
    jit.bind(scale, (x, 2.0))(x, 2.0)
    assert x[0] == 2.0
    jit.bind(scale, (x, 2.0))(x, 3.0)
    assert x[0] == 6.0
    assert len(scale.signatures) == 1


def test_binding_without_the_compiler_is_the_function() -> None:
    """Protects the suite with the compiler off: a plain function is returned as it is."""

    def plain(x: float) -> float:
        return x

    assert jit.bind(plain, (1.0,)) is plain


@pytest.mark.process
def test_kernels_run_without_the_compiler(tmp_path: Path) -> None:
    """Protects debugging: with the compiler off every kernel is a plain Python function."""
    code = (
        "from kernels.algebra import rotation; import types; "
        "print(type(rotation.rotate) is types.FunctionType)"
    )
    assert run(code, ROOT, NUMBA_DISABLE_JIT="1", NUMBA_CACHE_DIR=str(tmp_path)) == "True"


@compiler
@pytest.mark.process
def test_bounds_are_checked_on_request(tmp_path: Path) -> None:
    """Protects the checked run: with NUMBA_BOUNDSCHECK=1 an index outside raises, from a cache of its own."""
    code = (
        "import numpy as np; from kernels.algebra.rotation import rotate\n"
        "try:\n    rotate(np.eye(3), np.ones(2), np.zeros(3)); print('silent')\n"
        "except IndexError:\n    print('raised')"
    )
    assert run(code, ROOT, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == "raised"
