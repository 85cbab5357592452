"""Where the machine code of kernels is kept: on disk, named by what it was made from.

Numba keys its cache on the path and time stamp of one file: a change in another module leaves the callers
stale, another checkout compiles the same kernels again, and two processes that compile one kernel for
different types may exchange their code. Here the folder of a module is named by a hash of its source, of
the sources that it imports, directly or not, and of every flag that changes the code; the file of a kernel
by a hash of the types. An edit compiles what depends on it, and nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from kernels._held import Held
from kernels._inner import rebuilt, reduced

HASH_LENGTH = 16
CODE_FLAGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "NUMBA_DEBUGINFO", "NUMBA_OPT")
CODE_SUFFIX = ".nbc"
KEEP_S = 14 * 86400.0
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE
)
_FOLDER = re.compile(rf"[\w.-]+-[0-9a-f]{{{HASH_LENGTH}}}")
_on_compiled: list[Callable[[str], None]] = []
_faults: list[str] = []


def cache_root() -> Path:
    """Folder that holds one sub-folder per state of a module (NUMBA_CACHE_DIR overrides its parent)."""
    base = os.environ.get("NUMBA_CACHE_DIR")
    return Path(base if base else AppDirs(appname="rtsim", appauthor=False).user_cache_dir) / "kernels"


def n_cached() -> int:
    """How many kernels of any version are in the cache."""
    return sum(1 for _ in cache_root().glob(f"*/*{CODE_SUFFIX}"))


def cache_fault() -> str:
    """Why compiled kernels cannot be kept, with the remedy; empty while they can."""
    if not _faults:
        root = cache_root()
        try:
            root.mkdir(parents=True, exist_ok=True)
            probe = root / f"probe-{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
        except OSError as fault:
            _note_fault(fault)
    return _faults[0] if _faults else ""


def is_complete(group: str) -> bool:
    """Whether all kernels of a group were put into the cache, from these very sources."""
    folder = _group_folder(group)
    if not folder.is_dir():
        return False
    _mark_used(folder)
    return True


def mark_complete(group: str) -> None:
    """Remember that all kernels of a group are in the cache."""
    try:
        _group_folder(group).mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        _note_fault(fault)


def prune_cache(keep_s: float = KEEP_S) -> int:
    """Remove the code of module versions that no process used for `keep_s` [s]; returns how many."""
    old = time.time() - keep_s
    stale = [p for p in cache_root().glob("*") if _FOLDER.fullmatch(p.name) and p.stat().st_mtime < old]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return len(stale)


def tell_compiled(listener: Callable[[str], None]) -> Callable[[], None]:
    """Call `listener` with the name of every kernel from now on, when it is compiled; returns how to stop."""
    _on_compiled.append(listener)
    return lambda: _on_compiled.remove(listener)


@functools.cache
def module_hash(path: Path) -> str:
    """Hash of a module's source, of all sources it imports from the same packages, and of the code flags."""
    digest = hashlib.sha256()
    for source in sorted(_reached(path)):
        digest.update(hashlib.sha256(_text(source)).digest())
    digest.update(_flags())
    return digest.hexdigest()[:HASH_LENGTH]


class KernelCache(FunctionCache):
    """The compiled versions of one kernel on disk, one file for each tuple of argument types."""

    class _Placed(CompileResultCacheImpl):
        _locator_classes: list[Any] = []  # noqa: RUF012  (below, where its one entry is known)

    _impl_class = _Placed

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = _CodeFiles(Path(self.cache_path), self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code that is kept; Numba would first import all that it can compile, SciPy's linear algebra
        among it, which takes longer than everything else that a start loads.
        """
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code; a disk that does not take it is noted for `cache_fault`, once."""
        for listener in _on_compiled:
            listener(f"{self._py_func.__module__}.{self._py_func.__qualname__}")
        if not _faults:
            try:
                super().save_overload(sig, data)
            except OSError as fault:
                _note_fault(fault)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # two groups may have fields of the same types under other names
        return (*super()._index_key(sig, codegen), tuple(_field_names(argument) for argument in sig))


class _Folder(_CacheLocator):
    """Tells Numba the folder of a module's code."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file = path
        self._line = function.__code__.co_firstlineno
        self._path = cache_root() / f"{function.__module__}-{module_hash(Path(path).resolve())}"
        if self._path.is_dir():
            _mark_used(self._path)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name says it

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Folder:
        return cls(py_func, py_file)


KernelCache._Placed._locator_classes = [_Folder]


class InnerCache(KernelCache):
    """As KernelCache, for a kernel without machine code of its own."""

    class _Placed(KernelCache._Placed):
        def reduce(self, cres: Any) -> Any:
            return reduced(cres)

        def rebuild(self, target_context: Any, payload: Any) -> Any:
            return rebuilt(target_context, payload)

    _impl_class = _Placed


class _CodeFiles:
    """Machine code by types. Each file holds its key, and no file depends on another, so that any number of
    processes may write at a time.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base

    def save(self, key: Any, data: Any) -> None:
        path = self._path(key)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            part.write_bytes(dumps((key, data)))
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def load(self, key: Any) -> Any:
        try:
            found, data = pickle.loads(self._path(key).read_bytes())
        except Exception:  # not there, or damaged, which fails in many ways: compiled anew
            return None
        return data if found == key else None

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._base}.*{CODE_SUFFIX}"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:HASH_LENGTH]
        return self._folder / f"{self._base}.{name}{CODE_SUFFIX}"


def _group_folder(group: str) -> Path:
    """An empty folder that stands for a group whose kernels are all compiled."""
    digest = hashlib.sha256(_flags())
    for source in sorted(Path(__file__).resolve().parent.rglob("*.py")):
        digest.update(hashlib.sha256(_text(source)).digest())
    return cache_root() / f"group.{group}-{digest.hexdigest()[:HASH_LENGTH]}"


def _flags() -> bytes:
    """Everything beside the sources that changes the code."""
    flags = [f"{flag}={os.environ.get(flag, '')}" for flag in CODE_FLAGS]
    return " ".join([numba.__version__, str(sys.version_info[:3]), *flags]).encode()


def _note_fault(fault: OSError) -> None:
    _faults.append(
        f"compiled kernels cannot be kept in {cache_root()} ({fault.strerror}): every start compiles anew, "
        "for a minute or more; set NUMBA_CACHE_DIR to a folder that can be written"
    )


def _mark_used(folder: Path) -> None:
    """Keep a folder from being pruned; one that belongs to somebody else is pruned by its owner."""
    try:
        os.utime(folder)
    except OSError:
        return


def _field_names(kind: Any) -> tuple[Any, ...]:
    """Names of the fields of a group of arrays, nested groups included; () for anything else."""
    if isinstance(kind, Held):
        return tuple(map(_field_names, kind.kinds))
    if not isinstance(kind, types.NamedTuple):
        return ()
    return tuple((name, _field_names(part)) for name, part in zip(kind.fields, kind.types, strict=True))


@functools.cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


@functools.cache
def _imports(path: Path) -> frozenset[Path]:
    """Files that a module names in its imports, of the kernels and of its own package."""
    own = _top(path)
    roots = {Path(__file__).resolve().parent, own} if own else {Path(__file__).resolve().parent}
    found = set()
    for module, names, plain in _IMPORT.findall(_text(path).decode()):
        package = module or plain
        for root in roots:
            if package.split(".")[0] == root.name:
                found |= _files(root.parent, package, re.findall(r"\w+", names))
    return frozenset(found)


def _files(parent: Path, package: str, names: list[str]) -> set[Path]:
    """The file of a module, of its packages, and of those names that are modules themselves."""
    parts = package.split(".")
    candidates = [parent.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts) + 1)]
    candidates.append(parent.joinpath(*parts).with_suffix(".py"))
    candidates += [parent.joinpath(*parts, f"{name}.py") for name in names]
    return {path for path in candidates if path.is_file()}


def _top(path: Path) -> Path | None:
    """Folder of the outermost package that a file belongs to."""
    top = None
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        top = folder
    return top


def _reached(path: Path) -> set[Path]:
    """A module and everything it imports, directly or not."""
    reached, ahead = set(), [path]
    while ahead:
        source = ahead.pop()
        if source not in reached:
            reached.add(source)
            ahead.extend(_imports(source))
    return reached
