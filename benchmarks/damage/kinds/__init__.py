"""The classes of damage: modules of this folder, each with a tuple KINDS."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from benchmarks.damage.scene import DamageKind


def find_kinds() -> dict[str, DamageKind]:
    """Return all classes of damage by name, module by module."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {kind.name: kind for name in modules for kind in import_module(f"{__name__}.{name}").KINDS}
