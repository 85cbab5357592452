"""Facts on which results depend in addition to settings and input: source code, libraries, processor."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import llvmlite.binding

import rtsim
import streams
from kernels.compiler.sources import HASH_LENGTH, package_hash
from rtsim.config.paths import configs_root

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy", "msgspec")
FLAGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
"""Variables of the environment that change machine code."""
NOT_THERE = "not there"


@functools.cache
def build_facts() -> dict[str, str]:
    """Return the facts on source code, libraries and processor of this process, by name. Processes with equal
    facts compute bit-identical results from the same input."""
    features = sorted(name for name, on in llvmlite.binding.get_host_cpu_features().items() if on)
    return {
        "rtsim": installed("rtsim"),
        "sources": sources_hash(),
        "kernels": package_hash(),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: installed(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "byte order": sys.byteorder,
        "processor": llvmlite.binding.get_host_cpu_name(),
        "instruction sets": " ".join(features),
        **{flag: os.environ[flag] for flag in FLAGS if os.environ.get(flag)},
    }


def installed(name: str) -> str:
    """Return the version of an installed library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return NOT_THERE


@functools.cache
def sources_hash() -> str:
    """Return a hash of the sources of rtsim and of streams, and of the shipped configs."""
    digest = hashlib.sha256()
    packages = [Path(str(package.__file__)).resolve().parent for package in (rtsim, streams)]
    files = [path for folder in packages for path in folder.rglob("*.py")]
    files += [path for path in configs_root().rglob("*") if path.is_file()]
    for path in sorted(files):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:HASH_LENGTH]


def differences_of_builds(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return as text the facts on source code, libraries and processor in which two processes differ, so that
    their results may differ."""
    found = []
    for name in (*then, *(name for name in now if name not in then)):
        was, is_now = then.get(name, NOT_THERE), now.get(name, NOT_THERE)
        if was == is_now:
            continue
        if name == "instruction sets":
            lacking, more = set(was.split()) - set(is_now.split()), set(is_now.split()) - set(was.split())
            words = [f"without {' '.join(sorted(lacking))}"] if lacking else []
            words += [f"with {' '.join(sorted(more))}"] if more else []
            found.append(f"{name} {' and '.join(words)}")
        else:
            found.append(f"{name} {is_now} instead of {was}")
    return found
