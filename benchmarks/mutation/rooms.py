"""Modules to be mutated, and their tests: those of the same room, and those that import the module."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class MutatedRoom(NamedTuple):
    """Modules under one name, and the location of their tests.

    modules, tests : patterns below the project's folder; beyond : tests for what these let through
    compiler : whether kernels are compiled; without, a changed kernel costs no minute before its first call
    """

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    beyond: tuple[str, ...] = ()
    compiler: bool = False


def of_kernels(name: str, *beyond: str) -> MutatedRoom:
    """A room of kernels, whose tests have its name."""
    return MutatedRoom((f"kernels/{name}/*.py",), (f"tests/kernels/{name}/test_*.py",), beyond)


ROOMS: dict[str, MutatedRoom] = {
    "solver": of_kernels(
        "solver", "tests/kernels/test_occlusion.py", "tests/kernels/test_two_legs.py",
        "tests/kernels/uncertainty/test_*.py",
    ),
    "markers": of_kernels(
        "markers", "tests/kernels/test_occlusion.py", "tests/kernels/test_faults.py",
        "tests/kernels/solver/test_frame.py", "tests/kernels/solver/test_track.py",
    ),
    "faults": of_kernels("faults", "tests/kernels/test_faults.py", "tests/kernels/solver/test_frame.py"),
    "dynamics": of_kernels(
        "dynamics", "tests/kernels/test_switches.py", "tests/kernels/fdk/test_two_links.py",
        "tests/kernels/rosenbrock/test_holds.py",
    ),
    "recruitment": of_kernels("recruitment"),
    "fdk": of_kernels("fdk", "tests/kernels/uncertainty/test_kinetic_errors.py"),
    "exchange": MutatedRoom(
        ("streams/exchange.py",), ("tests/streams/test_exchange.py",),
        ("tests/streams/test_reservation.py", "tests/rtsim/live/test_device_*.py",
         "tests/rtsim/live/test_emergency_stop.py", "tests/rtsim/device/test_exchange.py"), True,
    ),
    "device": MutatedRoom(
        ("rtsim/device/*.py", "rtsim/device/controllers/*.py"), ("tests/rtsim/device/test_*.py",),
        ("tests/rtsim/live/test_device_*.py", "tests/rtsim/live/test_hostile_devices.py",
         "tests/rtsim/live/test_lying_*.py", "tests/rtsim/live/test_worn_*.py"), True,
    ),
}  # fmt: skip
"""Rooms by the name that `rtsim bench mutation --room` takes."""


def modules_of(root: Path, room: MutatedRoom) -> list[str]:
    """The room's modules, as paths below the root."""
    found = [path for pattern in room.modules for path in sorted(root.glob(pattern))]
    return [path.relative_to(root).as_posix() for path in found if path.name != "__init__.py"]


def files_of_tests(root: Path, room: MutatedRoom, module: str) -> tuple[list[str], list[str]]:
    """Return the test files of a module: those most likely to detect a change, and others.

    First comes what is named like the module, then what imports it, then the rest of its room.
    """
    nearby = sorted(path for pattern in room.tests for path in root.glob(pattern))
    others = sorted(path for pattern in room.beyond for path in root.glob(pattern))
    stem, dotted = Path(module).stem, module.removesuffix(".py").replace("/", ".")

    def distance(path: Path) -> int:
        if path.stem == f"test_{stem}":
            return 0
        return 1 if dotted in imported(path) else 2

    ordered = sorted(nearby, key=distance)
    return (
        [path.relative_to(root).as_posix() for path in ordered],
        [path.relative_to(root).as_posix() for path in others if path not in nearby],
    )


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules that a file imports, by their dotted names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
