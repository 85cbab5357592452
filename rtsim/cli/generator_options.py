"""What the options of `rtsim fit torque-generators` say of activations, co-contraction and strengths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtsim.cli.lines import tell
from rtsim.errors import ConfigError
from rtsim.files.storage import Table, read_storage
from rtsim.methods.emg import around, at_frames, borne_against, check_activations, columns_of
from rtsim.methods.joint_motion import JointMotion
from rtsim.methods.strength_bounds import Measured
from rtsim.methods.torque_generator_fit import FitSettings
from rtsim.models.packing.torque_generators import Placed

MOST_NAMED = 5
MOST_NM = 2000.0
"""Of a joint's torque: above it, newton millimetres or another unit are meant."""
WHOLE = ""
"""In place of a name: the number is of all."""


def known(name: str, names: list[str], where: str) -> str:
    """A name that is there."""
    if name not in names:
        raise ConfigError(f"there is no {name!r}", where=where, allowed=", ".join(names))
    return name


def numbers(
    given: tuple[str, ...], names: list[str], where: str, within: tuple[float, float]
) -> dict[str, float]:
    """NAME=NUMBER of the command line; WHOLE is the name of a number without one."""
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise ConfigError(f"{text!r} is no number", where=where, allowed="[NAME=]NUMBER") from None
        if not within[0] < number <= within[1]:
            raise ConfigError(
                f"{number:g} cannot be meant", where=where, allowed=f"above {within[0]:g} to {within[1]:g}"
            )
        found[known(name, names, where) if equals else WHOLE] = number
    return found


def isometric(measured: tuple[str, ...], joints: list[str]) -> dict[str, Measured]:
    """COORDINATE=TORQUE@ANGLE of the command line."""
    found = {}
    for text in measured:
        name, _, values = text.partition("=")
        torque, _, angle = values.partition("@")
        try:
            found[known(name, joints, "--measured")] = Measured(float(torque), math.radians(float(angle)))
        except ValueError:
            raise ConfigError(
                f"{text!r} is no torque at an angle", where="--measured", allowed="COORDINATE=TORQUE@ANGLE"
            ) from None
    return found


class Asked(NamedTuple):
    """What the command line says of activations and of co-contraction."""

    a_max: tuple[str, ...]
    emg: Path | None
    within: float | None
    against: tuple[str, ...]
    against_table: Path | None


def check_asked(asked: Asked, *, bounds: bool, measured: tuple[str, ...]) -> None:
    """ConfigError for options that do not go together, before anything is read."""
    if measured and not bounds:
        raise ConfigError("it is for --bounds", where="--measured", remedy="add --bounds")
    if asked.within is None:
        return
    if asked.emg is None:
        raise ConfigError("it is for EMG", where="--emg-within", remedy="add --emg")
    if not 0.0 < asked.within <= 1.0:
        raise ConfigError(f"{asked.within:g} cannot be meant", where="--emg-within", allowed="above 0 to 1")
    for option, given in (("--bounds", bounds), ("--co-contraction", asked.against)):
        if given:
            raise ConfigError(
                f"it contradicts {option}: EMG over time says how strong and how active both are",
                where="--emg-within", remedy="leave one out",
            )  # fmt: skip
    if asked.against_table is not None:
        raise ConfigError(
            "it contradicts --co-contraction-table: both say it over time", where="--emg-within",
            remedy="leave one out",
        )  # fmt: skip


def settings_of(motion: JointMotion, placed: list[Placed], asked: Asked, most_passive: float) -> FitSettings:
    """What the options ask of fits; placed : as they are before these."""
    if not 0.0 < most_passive <= 100.0:
        raise ConfigError(f"{most_passive:g} cannot be meant", where="--t-pe-max", allowed="above 0 to 100")
    names = [one.name for one in placed]
    given: dict[str, float] = numbers(asked.a_max, names, "--a-max", (0.0, 1.0))
    cap, caps, floors = given.pop(WHOLE, 1.0), dict[str, Any](given), dict[str, Any]()
    both: dict[str, Any] = co_contraction(motion, asked)
    if asked.emg is not None and asked.within is None:
        caps = {**peaks_of(asked.emg, names), **caps}
    elif asked.emg is not None and asked.within is not None:
        emg = emg_of(asked.emg, names, motion)
        if twice := [name for name in emg if name in caps]:
            raise ConfigError(
                f"{twice[0]} has EMG over time", where="--a-max", remedy="leave it out, or --emg-within"
            )
        floors, found = around(emg, asked.within)
        caps |= found
        both = dict(borne_against(placed, motion, emg))
    return FitSettings(cap=cap, caps=caps, floors=floors, co_contraction=both, most_passive=most_passive)


def co_contraction(motion: JointMotion, asked: Asked) -> dict[str, Any]:
    """Of every joint, in parts of its torque or over time [N m]."""
    where, path = "--co-contraction", asked.against_table
    parts = numbers(asked.against, list(motion.names), where, (0.0, 10.0))
    both: dict[str, Any] = {name: parts.get(name, parts.get(WHOLE, 0.0)) for name in motion.names}
    if path is None:
        return both
    found = at_frames(read_storage(path), str(path), motion.names, motion.times)
    for name, torque in found.items():
        if name in parts:
            raise ConfigError(f"{name} is in the table, too", where=where, remedy="say it once")
        low, high = float(np.min(torque)), float(np.max(torque))
        if low < 0.0 or high > MOST_NM:
            raise ConfigError(
                f"{name} goes from {low:g} to {high:g} N m", where=str(path), allowed=f"0 to {MOST_NM:g} N m"
            )
    return both | found


def peaks_of(path: Path, names: list[str]) -> dict[str, float]:
    """The greatest activation of each generator that a table of EMG names."""
    found = columns_of(read_emg(path, names), str(path), names)
    check_activations(found, str(path))
    return {name: float(np.nanmax(values)) for name, values in found.items()}


def emg_of(path: Path, names: list[str], motion: JointMotion) -> dict[str, Any]:
    """EMG at the frames of a motion."""
    found = at_frames(read_emg(path, names), str(path), names, motion.times)
    check_activations(found, str(path))
    return found


def read_emg(path: Path, names: list[str]) -> Table:
    """A table of EMG; columns that are of no generator are told."""
    table = read_storage(path)
    if others := [column for column in table.columns if column not in ("time", *names)]:
        tell(f"{path}: no generator is called {', '.join(others[:MOST_NAMED])}: left out")
    return table
