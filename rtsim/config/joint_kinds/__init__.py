"""Kinds of joints. Each module in this folder is one; its name is the value of the key `joint` in a model's
file.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from rtsim.config.joint_kind import JointKind

KINDS: dict[str, JointKind] = {
    module.name: import_module(f"{__name__}.{module.name}").KIND
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
}
