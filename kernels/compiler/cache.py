"""Storage of the kernels' machine code on disk, under names that depend on all that the code was made from.

Numba keys its cache on the path and time stamp of one file: after a change in another module the callers are
stale, another checkout compiles the same kernels again, and two processes that compile one kernel for
different types may exchange their code. Here the folder of a module is named by a hash of its source, of the
sources that it imports, directly or not, and of every flag that changes the code; the file of a kernel is
named by a hash of the argument types. An edit recompiles what depends on it, and nothing else.

The stored code is unpickled and run. It is therefore read only from folders that nobody else can write to
(`kernels/compiler/private_folder.py`), and only where it is what was written: a checksum is compared before
anything is unpickled. The checksum detects damage, but no attack: whoever can write to the folder can write
the checksum, too.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import shutil
import stat
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from kernels.compiler.held_arguments import WordsType
from kernels.compiler.inner import names_alone, places_of_calls, rebuilt, reduced
from kernels.compiler.private_folder import HAS_OWNERS, NotPrivateError, check_private, opened
from kernels.compiler.sources import HASH_LENGTH, group_hash, module_hash

CODE_SUFFIX = ".nbc"
HEAD = b"rtsim kernel 2\n"
"""First bytes of a file of machine code; the checksum of the rest follows them."""
DIGEST_BYTES = hashlib.sha256().digest_size
KEEP_S = 14 * 86400.0
_FOLDER = re.compile(rf"[\w.-]+-[0-9a-f]{{{HASH_LENGTH}}}")
_on_compiled: list[Callable[[str], None]] = []
_faults: list[str] = []


def cache_root() -> Path:
    """Return the path of the cache of compiled kernels, with one sub-folder per version of a module; the
    environment variable NUMBA_CACHE_DIR overrides its parent folder.
    """
    base = os.environ.get("NUMBA_CACHE_DIR")
    return Path(base if base else AppDirs(appname="rtsim", appauthor=False).user_cache_dir) / "kernels"


def n_cached() -> int:
    """Return the number of compiled kernels in the cache, of all versions of their modules."""
    return sum(1 for _ in cache_root().glob(f"*/*{CODE_SUFFIX}"))


def cache_mb() -> float:
    """Return the size on disk of all compiled kernels in the cache, of all versions of their modules [MB]."""
    return 1e-6 * sum(path.stat().st_size for path in cache_root().glob(f"*/*{CODE_SUFFIX}"))


def cache_fault() -> str:
    """Return a sentence that says why compiled kernels cannot be stored or are not used, and the remedy; ""
    if they can and are.
    """
    if not _faults:
        probe = f"probe-{uuid.uuid4().hex}"
        try:
            with opened(cache_root(), make=True) as root:
                root.write(probe, b"")
                root.remove(probe)
                root.check_entries(_FOLDER, CODE_SUFFIX)
        except OSError as fault:
            _note_fault(fault)
    return _faults[0] if _faults else ""


def is_complete(group: str) -> bool:
    """Return whether a group of kernels (a named set of them) was marked as complete in the cache, by
    mark_complete, for the present sources and this processor.
    """
    folder = _group_folder(group)
    try:
        with opened(folder.parent, folder.name):
            _mark_used(folder)
    except NotPrivateError as fault:
        _note_fault(fault)
        return False
    except OSError:  # not there
        return False
    return folder.is_dir()


def mark_complete(group: str) -> None:
    """Record on disk that the cache contains all kernels of a group (a named set of kernels)."""
    folder = _group_folder(group)
    try:
        with opened(folder.parent, folder.name, make=True):
            return
    except OSError as fault:
        _note_fault(fault)


def prune_cache(keep_s: float = KEEP_S) -> int:
    """Delete stored module versions that no process has used for `keep_s` [s]; return how many were deleted.

    Only folders of this user, in a cache that only this user can write to, are deleted; nothing behind a
    symbolic link is.
    """
    old = time.time() - keep_s
    try:
        with opened(cache_root()) as root:
            names = [
                n for n, status in root.entries() if status.st_mtime < old and _is_ours(root.path / n, status)
            ]
            for name in names:
                shutil.rmtree(root.path / name, ignore_errors=True)
            return sum(not (root.path / name).exists() for name in names)
    except OSError:  # none there, or one that is not ours to clean
        return 0


def _is_ours(path: Path, status: os.stat_result) -> bool:
    """Return whether a folder belongs to this user and to this cache, by its name, owner and mode.

    status : the result of os.lstat for the folder
    """
    if not _FOLDER.fullmatch(path.name) or not stat.S_ISDIR(status.st_mode):
        return False
    try:
        if HAS_OWNERS:
            check_private(path, status)
    except NotPrivateError:
        return False
    return True


def tell_compiled(listener: Callable[[str], None]) -> Callable[[], None]:
    """Register a function that is called with the name of every kernel that is compiled from now on; return a
    function that removes it again.
    """
    _on_compiled.append(listener)
    return lambda: _on_compiled.remove(listener)


class KernelCache(FunctionCache):
    """Cache on disk of the compiled versions of one kernel: one file for each tuple of argument types."""

    class _Placed(CompileResultCacheImpl):
        _locator_classes: list[Any] = []  # noqa: RUF012  (below, where its one entry is known)

        def reduce(self, cres: Any) -> Any:
            """Return what is stored of a compiled kernel: its machine code, without the intermediate code.

            Numba would store the intermediate code, too, for kernels that call this one. No kernel calls this
            one, and parsing that code would slow down every start of a program.
            """
            (name, kind, (code, _)), *rest = super().reduce(cres)
            return ((name, kind, (code, names_alone(cres))), *rest)

        def rebuild(self, target_context: Any, payload: Any) -> Any:
            found = super().rebuild(target_context, payload)
            found.library._shared_module = None  # of names alone: who calls it all the same is refused
            return found

    _impl_class = _Placed

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: Any = _CodeFiles(Path(self.cache_path), self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the stored machine code of a kernel for the argument types sig; return None where there is
        none.

        Numba's own method would first import all libraries that compiled code may call, such as SciPy's
        linear algebra; this takes longer than everything else that is loaded when a program starts.
        """
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled result data of a kernel for the argument types sig.

        An error of the disk raises no exception: `cache_fault` reports the first one.
        """
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
    """Numba cache locator: it tells Numba in which folder the machine code of a module is stored."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file = path
        self._line = function.__code__.co_firstlineno
        self._path = cache_root() / f"{function.__module__}-{module_hash(Path(path).resolve())}"
        _mark_used(self._path)

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name says it

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        with opened(self._path.parent, self._path.name, make=True):
            return

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Folder:
        return cls(py_func, py_file)


KernelCache._Placed._locator_classes = [_Folder]


class InnerCache(KernelCache):
    """Cache of an inner kernel, one that only other kernels call and that has no machine code of its own.

    Its file contains the intermediate code and the names of the files of all kernels that it calls; where one
    of these files is missing, the kernel is compiled again.
    """

    class _Placed(KernelCache._Placed):
        def reduce(self, cres: Any) -> Any:
            return reduced(cres)

        def rebuild(self, target_context: Any, payload: Any) -> Any:
            return _rebuilt_with_calls(target_context, payload)

    _impl_class = _Placed

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        place = self._place(sig, target_context)
        if place not in _in_use:
            found = super()._load_overload(sig, target_context)
            if found is None:
                return None
            _put_in_use(place, found)
        return _in_use[place]

    def _save_overload(self, sig: Any, data: Any) -> None:
        if all(called.place for called in data.library.calls):
            super()._save_overload(sig, data)
            _put_in_use(self._place(sig, data.target_context), data)

    def _place(self, sig: Any, target_context: Any) -> tuple[str, str]:
        return self._cache_file.place(self._index_key(sig, target_context.codegen()))


_in_use: dict[tuple[str, str], Any] = {}
"""Inner kernels loaded in this process, by folder and file."""


def _put_in_use(place: tuple[str, str], result: Any) -> None:
    result.library.place = place
    _in_use[place] = result._replace(metadata=None)  # as of a kernel that was kept: it was compiled before


def _rebuilt_with_calls(target_context: Any, payload: Any) -> Any:
    """Return an inner kernel rebuilt from the content of its file, with all kernels that it calls; None if
    one of these is not stored.
    """
    calls = []
    for place in places_of_calls(payload):
        if place not in _in_use:
            folder, name = place
            kept = _CodeFiles(cache_root() / folder, "").read(name)
            found = _rebuilt_with_calls(target_context, kept[1]) if kept is not None else None
            if found is None:
                return None
            _put_in_use(place, found)
        calls.append(_in_use[place].library)
    return rebuilt(target_context, payload, calls)


class _CodeFiles:
    """The files that store compiled code of one kernel, one file for each tuple of argument types.

    Each file contains its key (types and processor) and does not depend on others, so that several processes
    may write at the same time.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder, self._base = folder, base

    def save(self, key: Any, data: Any) -> None:
        name = self._name(key)
        payload = dumps((key, data))
        with opened(self._folder.parent, self._folder.name, make=True) as folder:
            folder.write(name, HEAD + self._checksum(name, payload) + payload)

    def load(self, key: Any) -> Any:
        """Return the code that is stored for a key (argument types and processor); None where there is none,
        where its file is damaged, or where other users may write to it.
        """
        found, data = self.read(self._name(key)) or (None, None)
        return data if found == key else None

    def place(self, key: Any) -> tuple[str, str]:
        """Return the names of the folder and of the file in which the code for a key is stored."""
        return self._folder.name, self._name(key)

    def read(self, name: str) -> tuple[Any, Any] | None:
        """Return the key and the code that a file contains; None where there is no such file, it is damaged,
        or other users may write to it.
        """
        try:
            with opened(self._folder.parent, self._folder.name) as folder:
                kept = memoryview(folder.read(name))
        except NotPrivateError as fault:
            _note_fault(fault)
            return None
        except OSError:  # not there
            return None
        payload = kept[len(HEAD) + DIGEST_BYTES :]
        if kept[: -len(payload) or None] != HEAD + self._checksum(name, payload):
            return None
        try:
            key, data = pickle.loads(payload)
        except Exception:  # whole, and of classes that this Python lacks: compiled anew
            return None
        return key, data

    def flush(self) -> None:
        with opened(self._folder.parent, self._folder.name) as folder:
            for name, _ in folder.entries():
                if name.startswith(f"{self._base}.") and name.endswith(CODE_SUFFIX):
                    folder.remove(name)

    def _name(self, key: Any) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:HASH_LENGTH]
        return f"{self._base}.{digest}{CODE_SUFFIX}"

    def _checksum(self, name: str, payload: bytes | memoryview) -> bytes:
        """Return the checksum of a file's content and name, so that a renamed file is rejected as well."""
        digest = hashlib.sha256(f"{self._folder.name}/{name}\n".encode())
        digest.update(payload)
        return digest.digest()


def _group_folder(group: str) -> Path:
    """Return the path of the empty folder whose existence says that all kernels of a group are compiled."""
    return cache_root() / f"group.{group}-{group_hash()}"


def _note_fault(fault: OSError) -> None:
    root, slow = cache_root(), "every start compiles the kernels again, for a minute or more"
    if isinstance(fault, NotPrivateError):
        words = (
            f"compiled kernels in {root} are not used, as somebody else may have put them there "
            f"({fault.what}): {slow}; {fault.remedy + ', or ' if fault.remedy else ''}"
            "set NUMBA_CACHE_DIR to a folder of your own"
        )
    else:
        words = (
            f"compiled kernels cannot be kept in {root} ({fault.strerror}): {slow}; "
            "set NUMBA_CACHE_DIR to a folder that can be written"
        )
    _faults.append(words)


def _mark_used(folder: Path) -> None:
    """Set the time stamp of a folder, if it exists, to now, so that prune_cache keeps it.

    For a folder of another user this fails and is ignored, as only its owner's processes may delete it.
    """
    try:
        os.utime(folder, follow_symlinks=os.utime not in os.supports_follow_symlinks)
    except OSError:
        return


def _field_names(kind: Any) -> tuple[Any, ...]:
    """Return the names of the fields of a named tuple, nested ones included; () for anything else."""
    if isinstance(kind, WordsType):
        return tuple(map(_field_names, kind.kinds))
    if not isinstance(kind, types.NamedTuple):
        return ()
    return tuple((name, _field_names(part)) for name, part in zip(kind.fields, kind.types, strict=True))
