"""A controller law that is a function of the user's own: loaded and tried before the start, checked in every
tick."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from numbers import Real
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from rtsim.config.controllers.python import Controller
from rtsim.device.controller import AT_REST, ControllerError, Seen
from rtsim.errors import ConfigError
from streams.account import plain

SUFFIX = ".py"
WHERE = "controller.function"
FAULTS = (Exception, SystemExit)
"""Exceptions of the user's code that are caught: also SystemExit, so that no `sys.exit` ends a run that holds
a device."""
Function = Callable[[Seen, Mapping[str, float]], Any]


class OwnFunction:
    """Caller of the user's function; an exception, or a result that is no number, is a fault of the
    controller.
    """

    def __init__(self, name: str, function: Function) -> None:
        self._name, self._function = name, function

    def torque(self, values: Mapping[str, float], seen: Seen) -> float:
        """Return the torque by the user's function [N m]; the function may read the parameters `values`, but
        not change them.
        """
        try:
            return self._checked(self._function(seen, MappingProxyType(values)))
        except ControllerError:
            raise
        except FAULTS as fault:  # whatever a stranger's function, or the object that it returns, does
            raise ControllerError(
                f"{self._name} failed ({plain(f'{type(fault).__name__}: {fault}')})"
            ) from fault

    def _checked(self, told: Any) -> float:
        """Return what the function returned as a finite torque [N m]; ControllerError if it is none."""
        if isinstance(told, bool) or not isinstance(told, Real):
            raise ControllerError(f"{self._name} returned {plain(repr(told), 32)}, which is not a number")
        torque = float(told)
        if not math.isfinite(torque):
            raise ControllerError(f"{self._name} returned {torque}, which is not a finite torque")
        return torque


def make(spec: Controller) -> OwnFunction:
    """Load the user's function and call it once with a joint at rest; ConfigError where it does not exist, or
    fails.
    """
    source, _, name = spec.function.rpartition(":")
    function = getattr(module_of(source), name, None)
    if not callable(function):
        raise ConfigError(
            f"{source} has no function {name!r}", where=WHERE, remedy="correct the name of the function"
        )
    law = OwnFunction(spec.function, function)
    try:
        law.torque(spec.values, AT_REST)
    except ControllerError as fault:
        raise ConfigError(
            f"{fault} when the controller was tried with a limb at rest",
            where=WHERE, remedy="correct the function",
            allowed="function(seen, parameters) -> a finite number [N m]",
        ) from fault  # fmt: skip
    return law


def module_of(source: str) -> ModuleType:
    """Load the Python module with the user's function, given by the module's name or file; ConfigError where
    it cannot be loaded.
    """
    if source.endswith(SUFFIX) and not Path(source).is_file():
        raise ConfigError(
            f"no such file {source!r}",
            where=WHERE,
            remedy="give the path relative to the folder in which rtsim runs",
        )
    try:
        if not source.endswith(SUFFIX):
            return import_module(source)
        spec = spec_from_file_location(Path(source).stem, source)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)  # as dataclasses and pickles of it expect
        spec.loader.exec_module(module)
        return module
    except FAULTS as fault:  # whatever a stranger's module does
        raise ConfigError(
            f"{source} cannot be loaded ({plain(f'{type(fault).__name__}: {fault}')})", where=WHERE,
            remedy="correct the file, or install the packages that it imports",
        ) from fault  # fmt: skip
