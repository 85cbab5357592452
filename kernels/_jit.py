"""The one place that compiles: the decorator of every kernel, and where its machine code is kept.

Numba keys its cache on one file's time stamp, so a change in a helper module leaves its callers
stale, and bounds checking reuses unchecked code. The cache folder is therefore named by a hash of
all kernel sources and of every flag that changes the code.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.misc.appdirs import AppDirs

Function = TypeVar("Function", bound=Callable[..., Any])

HASH_LENGTH = 16
CODE_FLAGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "NUMBA_DEBUGINFO", "NUMBA_OPT", "RTSIM_WRAP_KERNELS")
# fastmath=True would delete the isfinite guards; these two flags keep them.
FAST = {"reassoc", "contract"}


def source_hash() -> str:
    """Hash of all kernel sources, compiler versions and code flags: the name of the cache folder."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update(f"{numba.__version__} {sys.version_info[:3]}".encode())
    for flag in CODE_FLAGS:
        digest.update(f"{flag}={os.environ.get(flag, '')}".encode())
    return digest.hexdigest()[:HASH_LENGTH]


def cache_root() -> Path:
    """Folder that holds one sub-folder per state of the kernels (NUMBA_CACHE_DIR overrides it)."""
    base = os.environ.get("NUMBA_CACHE_DIR")
    return Path(base if base else AppDirs(appname="rtsim", appauthor=False).user_cache_dir) / "kernels"


def cache_folder() -> Path:
    """Folder of the machine code of these very sources."""
    return cache_root() / _HASH


def prune_cache(keep_s: float = 14 * 86400.0) -> int:
    """Remove caches of other kernel sources that were not touched for `keep_s` [s]; returns how many."""
    root = cache_root()
    old = time.time() - keep_s
    stale = [
        p
        for p in root.glob("*")
        if len(p.name) == HASH_LENGTH and p.name != _HASH and p.stat().st_mtime < old
    ]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale)


_HASH = source_hash()
# Untyped on purpose: settings and options of Numba that its type stubs do not list.
_numba_config: Any = numba.config
_numba_njit: Any = numba.njit
_COMPILED: list[Any] = []


def njit(function: Function) -> Function:
    """Compile a kernel that other kernels call: cached, without the interpreter lock, IEEE guards kept.

    Without Numba's runtime (_nrt=False) an allocation in a kernel is a compile error and no array is
    reference counted on its way through the calls; without wrappers for Python a quarter of the compile
    time is saved. RTSIM_WRAP_KERNELS=1 (the tests) makes every kernel callable from Python.
    """
    return _compile(function, wrap=os.environ.get("RTSIM_WRAP_KERNELS") == "1")


def inlined(function: Function) -> Function:
    """As njit, for a step between large groups of arrays: merged into its caller by the compiler.

    A group is handed over by value, half a nanosecond an array and a call; what only passes groups on, once
    or twice a step, costs less where it is merged than where it is called.
    """
    return _compile(function, wrap=os.environ.get("RTSIM_WRAP_KERNELS") == "1", inline=True)


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls, once per frame."""
    return _compile(function, wrap=True)


def inlined_entry(function: Function) -> Function:
    """An entry that other kernels call as well: merged into them as `inlined`."""
    return _compile(function, wrap=True, inline=True)


def _compile(function: Function, wrap: bool, inline: bool = False) -> Function:
    former = _numba_config.CACHE_DIR
    # Set only while Numba looks for the cache folder, so that other users of Numba keep theirs.
    _numba_config.CACHE_DIR = str(cache_folder())
    try:
        compiled = _numba_njit(
            cache=True,
            nogil=True,
            fastmath=FAST,
            error_model="numpy",
            _nrt=False,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=not wrap,
            forceinline=inline,
        )(function)
    finally:
        _numba_config.CACHE_DIR = former
    _COMPILED.append(compiled)
    return compiled


def bind(kernel: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of an entry for arguments of these types, compiled now, called without dispatch.

    Numba's dispatcher looks at the type of every array of every call, 15 us for a hundred arrays; this
    leaves it out. The caller vouches that later arguments have the same types and layouts.
    """
    if not hasattr(kernel, "overloads"):  # the compiler is off
        return kernel
    signature = tuple(numba.typeof(argument) for argument in arguments)
    found = kernel.overloads.get(signature)
    return found.entry_point if found is not None else kernel.compile(signature)


def freeze_compilation() -> None:
    """Forbid further compilation: an argument of a new type becomes a TypeError instead of a stall."""
    for compiled in _COMPILED:
        if getattr(compiled, "signatures", None):
            compiled.disable_compile()


def allow_compilation() -> None:
    """Permit compilation again (tests and benches that change argument types)."""
    for compiled in _COMPILED:
        if hasattr(compiled, "disable_compile"):
            compiled.disable_compile(False)


def n_compiled() -> int:
    """Number of compiled specialisations in this process: constant after warm-up."""
    return sum(len(getattr(compiled, "signatures", ())) for compiled in _COMPILED)
