"""The cases: modules of this folder, each with a tuple CASES; a case is added there and nowhere else."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from benchmarks.hil_hostile.case import FAMILIES, HostileCase


def find_cases() -> dict[str, HostileCase]:
    """Return all cases by name, family by family, module by module."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [case for name in modules for case in import_module(f"{__name__}.{name}").CASES]
    return {case.name: case for case in sorted(found, key=lambda case: FAMILIES.index(case.family))}
