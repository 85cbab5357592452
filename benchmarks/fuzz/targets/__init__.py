"""Fuzzed targets: each module has a tuple TARGETS, found by folder."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from benchmarks.fuzz.target import FuzzTarget


def all_targets() -> dict[str, FuzzTarget]:
    """Return every target by its name."""
    return {name: target for module in modules() for name, target in targets_of(module).items()}


def modules() -> list[str]:
    """Return the modules that have targets."""
    return [found.name for found in pkgutil.iter_modules(__path__)]


def targets_of(module: str) -> dict[str, FuzzTarget]:
    """Return the targets of one module by name; the other modules are not loaded."""
    return {target.name: target for target in import_module(f"{__name__}.{module}").TARGETS}


def module_of(name: str) -> str:
    """Return the module that has a target."""
    return next(module for module in modules() if name in targets_of(module))
