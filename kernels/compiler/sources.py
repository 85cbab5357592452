"""Hashes of everything that determines the machine code of a kernel: its module, the modules that it imports,
and the compiler's flags.

Such a hash names the folder in which the code is stored (`kernels.compiler.cache`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from pathlib import Path

import numba
from llvmlite import binding

PACKAGE = Path(__file__).resolve().parents[1]
"""Folder of the package `kernels`."""
HASH_LENGTH = 16
PROCESSOR_FLAGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
CODE_FLAGS = ("NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT", "NUMBA_DEBUGINFO", "NUMBA_OPT")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))", re.MULTILINE
)


@functools.cache
def module_hash(path: Path) -> str:
    """Return a hash of a module's source, of all modules of this package that it imports, and of the
    compiler's flags.
    """
    digest = hashlib.sha256()
    for source in sorted(_reached(path)):
        digest.update(hashlib.sha256(_text(source)).digest())
    digest.update(_flags())
    return digest.hexdigest()[:HASH_LENGTH]


@functools.cache
def package_hash() -> str:
    """Return a hash of all sources of package `kernels` and of the compiler's flags."""
    digest = hashlib.sha256(_flags())
    for source in sorted(PACKAGE.rglob("*.py")):
        digest.update(hashlib.sha256(_text(source)).digest())
    return digest.hexdigest()[:HASH_LENGTH]


def group_hash() -> str:
    """Return a hash of all sources of package `kernels`, of the compiler's flags and of the processor.

    Computers with different processors may share a home directory, and with it the cache.
    """
    return hashlib.sha256(f"{package_hash()} {_processor()}".encode()).hexdigest()[:HASH_LENGTH]


def _processor() -> str:
    """Return a text that describes the processor for which Numba compiles: its name, its instruction set, and
    settings that override them.
    """
    flags = [f"{flag}={os.environ.get(flag, '')}" for flag in PROCESSOR_FLAGS]
    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # unknown to LLVM, as Numba takes it
        features = ""
    return " ".join([binding.get_process_triple(), binding.get_host_cpu_name(), features, *flags])


def _flags() -> bytes:
    """Return as bytes everything besides the sources that changes the machine code, such as versions and
    settings.
    """
    flags = [f"{flag}={os.environ.get(flag, '')}" for flag in CODE_FLAGS]
    return " ".join([numba.__version__, str(sys.version_info[:3]), *flags]).encode()


@functools.cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


@functools.cache
def _imports(path: Path) -> frozenset[Path]:
    """Return the files of the modules that a module imports, if they belong to package `kernels` or to its
    own package.
    """
    own = _top(path)
    roots = {PACKAGE, own} if own else {PACKAGE}
    found = set()
    for module, names, plain in _IMPORT.findall(_text(path).decode()):
        package = module or plain
        for root in roots:
            if package.split(".")[0] == root.name:
                found |= _files(root.parent, package, re.findall(r"\w+", names))
    return frozenset(found)


def _files(parent: Path, package: str, names: list[str]) -> set[Path]:
    """Return the files of an imported module, of the packages that contain it, and of those imported names
    that are modules.

    parent : folder of the outermost package; package : dotted name after `from`; names : names after `import`
    """
    parts = package.split(".")
    candidates = [parent.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts) + 1)]
    candidates.append(parent.joinpath(*parts).with_suffix(".py"))
    candidates += [parent.joinpath(*parts, f"{name}.py") for name in names]
    return {path for path in candidates if path.is_file()}


def _top(path: Path) -> Path | None:
    """Return the folder of the outermost package that a file belongs to; None if it belongs to no package."""
    top = None
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        top = folder
    return top


def _reached(path: Path) -> set[Path]:
    """Return the file of a module and the files of all modules that it imports, directly or not."""
    reached, ahead = set(), [path]
    while ahead:
        source = ahead.pop()
        if source not in reached:
            reached.add(source)
            ahead.extend(_imports(source))
    return reached
