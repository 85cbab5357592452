"""Kinds of controllers of a device. Each module in this folder is one; its name is the value of the key
`kind` in a config.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import msgspec

from rtsim.config.controller import ControllerSpec
from rtsim.config.mistake import explain

KINDS: dict[str, type[ControllerSpec]] = {
    module.name: import_module(f"{__name__}.{module.name}").Controller
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
}
USUAL = "stiffness_damping"
"""The kind of a config that names none."""


def controller_of(table: Any) -> ControllerSpec:
    """Return the settings of a device's controller from the table [controller] of a config; ValueError, in
    terms of the file, for an invalid table.
    """
    if isinstance(table, ControllerSpec):
        return table
    if not isinstance(table, dict):
        raise ValueError(f"controller: {table!r} is not a table; allowed: a table [controller] with keys")
    kind = table.get("kind", USUAL)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"controller.kind: {kind!r}; allowed: {', '.join(KINDS)}")
    record = KINDS[kind]
    try:
        return msgspec.convert(table | {"kind": kind}, record)
    except msgspec.ValidationError as error:
        what, allowed, _ = explain(str(error), table, record)
        allowed = f"kind, {allowed}" if allowed and "unknown field" in what else allowed
        said = what if what.startswith("controller") else f"controller: {what}"
        raise ValueError(f"{said}; allowed: {allowed}" if allowed else said) from None
