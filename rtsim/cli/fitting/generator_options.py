"""Options of `rtsim fit torque-generators` on activations, co-contraction and strengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernels.torque_generator.torque import DELTA
from rtsim.cli.terminal.lines import tell
from rtsim.cli.terminal.types import check_new
from rtsim.errors import ConfigError
from rtsim.files.tables.storage import Table, read_storage
from rtsim.methods.generators.emg import around, at_frames, borne_against, check_activations, columns_of
from rtsim.methods.generators.joint_motion import MOMENT, MOST_NM, JointMotion
from rtsim.methods.generators.strength_bounds import FLEXOR_RATIOS, IsometricTorque
from rtsim.methods.generators.torque_generator_fit import HIGH, LOW, FitSettings
from rtsim.models.packing.torque_generators import PlacedGenerator

MOST_NAMED = 5
WHOLE = ""
"""Key of a number that applies to all generators or coordinates."""
LIMITS = {
    "angle_scale": (1.0, 100.0), "speed_scale": (1.0, 100.0), "passive_shift_deg": (-90.0, 90.0),
    "passive_blend": (0.0, 1.0), "strength_scale": (1.0, 100.0),
}  # fmt: skip
"""Range within which the bounds of each fitted parameter may lie, in the order of the vector x."""


def known(name: str, names: list[str], where: str) -> str:
    """Return the name if it is in the list `names`; ConfigError that names the option `where` otherwise."""
    if name not in names:
        raise ConfigError(f"{name!r} does not exist", where=where, allowed=", ".join(names))
    return name


def numbers(
    given: tuple[str, ...], names: list[str], where: str, within: tuple[float, float]
) -> dict[str, float]:
    """Read words NAME=NUMBER of the command line into a dictionary of numbers; a number without a name
    applies to all names and gets the name WHOLE.
    """
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise ConfigError(f"{text!r} is no number", where=where, allowed="[NAME=]NUMBER") from None
        if not (number > 0.0 and within[0] <= number <= within[1]):
            least = f"{within[0]:g}" if within[0] else "above 0"
            raise ConfigError(f"{number:g} is out of range", where=where, allowed=f"{least} to {within[1]:g}")
        to = known(name, names, where) if equals else WHOLE
        if to in found:
            raise ConfigError(
                f"the value of {to or 'all generators'} is given twice", where=where, remedy="give it once"
            )
        found[to] = number
    return found


class Said(NamedTuple):
    """Options of `rtsim fit torque-generators` that require or contradict each other, as given by the user.

    a_max : greatest activations, NAME=NUMBER; emg : table of EMG, whose peaks are greatest activations, too
    within : greatest difference between an activation and the EMG in a frame, None = only the peaks are used
    against, against_table : co-contraction, as fractions of the joint torque, or over time in a table
    most_passive : greatest passive torque; strength : factors that weaken generators before the fit
    bounds : whether strengths get lower bounds; measured : isometric torques, COORDINATE=TORQUE@ANGLE
    """

    a_max: tuple[str, ...]
    emg: Path | None
    within: float | None
    against: tuple[str, ...]
    against_table: Path | None
    most_passive: float
    strength: tuple[str, ...]
    bounds: bool
    measured: tuple[str, ...]


class FitRequests(NamedTuple):
    """Values requested by the options of `rtsim fit torque-generators`. The keys of the dictionaries are
    names of generators or coordinates; the key WHOLE stands for all of them.

    a_max : greatest activations; emg : table of EMG, whose peaks are greatest activations, too
    within : greatest difference between an activation and the EMG in a frame, None = only the peaks are used
    against, against_table : co-contraction, as fractions of the joint torque, or over time in a table
    most_passive : greatest passive torque, as a fraction of the isometric torque
    strength : factors that weaken generators before the fit; measured : isometric torques
    """

    a_max: dict[str, float]
    emg: Path | None
    within: float | None
    against: dict[str, float]
    against_table: Path | None
    most_passive: float
    strength: dict[str, float]
    measured: dict[str, IsometricTorque]


def asked_of(said: Said, placed: Sequence[PlacedGenerator]) -> FitRequests:
    """Return the values requested by the options; ConfigError for options without effect or that contradict
    each other, before anything is read.

    said : the options
    placed : the torque generators at the joints of the model
    """
    names, joints = [one.name for one in placed], list(dict.fromkeys(one.joint.coordinate for one in placed))
    check_together(said)
    if not 0.0 < said.most_passive <= 100.0:
        raise ConfigError(
            f"{said.most_passive:g} is out of range",
            where="--t-pe-max",
            allowed="a fraction above 0, up to 100",
        )
    return FitRequests(
        a_max=numbers(said.a_max, names, "--a-max", (0.0, 1.0)), emg=said.emg, within=said.within,
        against=numbers(said.against, joints, "--co-contraction", (0.0, 10.0)),
        against_table=said.against_table, most_passive=said.most_passive,
        strength=numbers(said.strength, [*names, *joints], "--strength", (0.01, 100.0)),
        measured=isometric(said.measured, [one for one in placed if one.muscle in FLEXOR_RATIOS]),
    )  # fmt: skip


def limits_of(given: tuple[str, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return lower and upper bounds of the fitted parameters from words NAME=LOW:HIGH of the command line;
    the default bounds if there are none.
    """
    low, high = list(LOW), list(HIGH)
    seen: list[str] = []
    for text in given:
        name, _, ends = text.partition("=")
        k, within = [*LIMITS].index(known(name, [*LIMITS], "--bound")), LIMITS[name]
        try:
            least, most = (float(end) for end in ends.split(":"))
        except ValueError:
            raise ConfigError(
                f"{text!r} does not state bounds", where="--bound", allowed="NAME=LOW:HIGH"
            ) from None
        if not within[0] <= least <= most <= within[1]:
            raise ConfigError(
                f"{text!r} is out of range", where="--bound",
                allowed=f"LOW to HIGH, with LOW below HIGH, both within {within[0]:g} to {within[1]:g}",
            )  # fmt: skip
        check_new(name, seen, "--bound")
        seen.append(name)
        in_radians = k == DELTA
        low[k], high[k] = (math.radians(end) if in_radians else end for end in (least, most))
    return tuple(low), tuple(high)


def check_together(said: Said) -> None:
    """Raise ConfigError for options that require or contradict each other."""
    for option, given, other, there in (
        ("--measured", bool(said.measured), "--bounds", said.bounds),
        ("--emg-within", said.within is not None, "--emg", said.emg is not None),
    ):
        if given and not there:
            raise ConfigError(
                f"the option applies only together with {other}", where=option, remedy=f"add {other}"
            )
    over_time = said.within is not None
    for option, given, other, there, why in (
        ("--strength", bool(said.strength), "--bounds", said.bounds,
         "the bounds are derived from the strength at the peak moments"),
        ("--emg-within", over_time, "--bounds", said.bounds, "EMG over time already states the activation "
        "of every generator"),
        ("--emg-within", over_time, "--co-contraction", bool(said.against), "both options state the torque "
        "that agonist and antagonist exert against each other"),
        ("--emg-within", over_time, "--co-contraction-table", said.against_table is not None,
         "both options state the torque that agonist and antagonist exert against each other"),
    ):  # fmt: skip
        if given and there:
            raise ConfigError(f"this option contradicts {other}: {why}", where=option, remedy="leave one out")
    if said.within is not None and not 0.0 < said.within <= 1.0:
        raise ConfigError(
            f"{said.within:g} is out of range", where="--emg-within",
            allowed="a deviation from the EMG above 0, up to 1 (1 = a maximum contraction)",
        )  # fmt: skip


def isometric(measured: tuple[str, ...], flexors: Sequence[PlacedGenerator]) -> dict[str, IsometricTorque]:
    """Return the measured isometric torques of the leg joints, coordinate -> torque and angle, from words
    COORDINATE=TORQUE@ANGLE of the command line.

    flexors : flexor generators, for whose joints torques may be given
    """
    found: dict[str, IsometricTorque] = {}
    for text in measured:
        name, _, values = text.partition("=")
        torque, _, angle = values.partition("@")
        known(name, [one.joint.coordinate for one in flexors], "--measured")
        try:
            one = IsometricTorque(float(torque), math.radians(float(angle)))
        except ValueError:
            raise ConfigError(
                f"{text!r} does not state a torque at an angle",
                where="--measured",
                allowed="COORDINATE=TORQUE@ANGLE",
            ) from None
        if not (0.0 < one.torque <= MOST_NM and abs(one.angle) <= math.pi):
            raise ConfigError(
                f"{text!r} is out of range", where="--measured",
                allowed=f"a torque above 0, up to {MOST_NM:g} N m, at -180 to 180 deg, positive in flexion",
            )  # fmt: skip
        check_new(name, found, "--measured")
        found[name] = one
    return found


def settings_of(motion: JointMotion, placed: Sequence[PlacedGenerator], asked: FitRequests) -> FitSettings:
    """Return the settings of the fits of torque generators (bounds of activation, co-contraction) from the
    requested values; placed : the generators before the fit.
    """
    if not len(motion.times):  # nothing is known, which every generator is told by its fault
        return FitSettings(most_passive=asked.most_passive)
    names = [one.name for one in placed]
    caps, floors = dict[str, Any](asked.a_max), dict[str, Any]()
    cap, both = caps.pop(WHOLE, 1.0), co_contraction(motion, asked)
    if asked.emg is not None and asked.within is None:
        caps = {**peaks_of(asked.emg, names), **caps}
    elif asked.emg is not None and asked.within is not None:
        emg = emg_of(asked.emg, names, motion)
        if twice := [name for name in emg if name in caps]:
            raise ConfigError(
                f"{twice[0]} already has EMG over time",
                where="--a-max",
                remedy="remove the activation of this generator, or --emg-within",
            )
        floors, found = around(emg, asked.within)
        caps |= found
        both = dict(borne_against(placed, motion, emg))
    return FitSettings(
        cap=cap, caps=caps, floors=floors, co_contraction=both, most_passive=asked.most_passive
    )


def co_contraction(motion: JointMotion, asked: FitRequests) -> dict[str, Any]:
    """Return the co-contraction of every joint: coordinate -> fraction of its torque, or torque over the
    frames of the motion [N m].
    """
    where, parts, path = "--co-contraction", asked.against, asked.against_table
    for name in parts:
        if name != WHOLE:
            known(name, list(motion.names), where)
    both: dict[str, Any] = {name: parts.get(name, parts.get(WHOLE, 0.0)) for name in motion.names}
    if path is None:
        return both
    table = read_storage(path)
    is_of_angles = table.in_degrees and table.states_unit
    if is_of_angles or any(name + MOMENT in table.columns for name in motion.names):
        raise ConfigError(
            "the file is a table of angles or of a motion", where=str(path),
            allowed="co-contraction torques [N m], in columns named by coordinates",
        )  # fmt: skip
    found = at_frames(table, str(path), motion.names, motion.times)
    for name, torque in found.items():
        if name in parts:
            raise ConfigError(f"the table already contains {name}", where=where, remedy="give it once")
        low, high = float(np.min(torque)), float(np.max(torque))
        if low < 0.0 or high > MOST_NM:
            raise ConfigError(
                f"{name} goes from {low:g} to {high:g} N m",
                where=str(path),
                allowed=f"torques of 0 to {MOST_NM:g} N m",
            )
    return both | found


def peaks_of(path: Path, names: list[str]) -> dict[str, float]:
    """Return the greatest activation of each torque generator that a table of EMG contains; names : names of
    the generators.
    """
    found = columns_of(read_emg(path, names), str(path), names)
    check_activations(found, str(path))
    return {name: float(np.nanmax(values)) for name, values in found.items()}


def emg_of(path: Path, names: list[str], motion: JointMotion) -> dict[str, Any]:
    """Return EMG of torque generators at the frames of a motion, interpolated from a table; names : names of
    the generators.
    """
    found = at_frames(read_emg(path, names), str(path), names, motion.times)
    check_activations(found, str(path))
    return found


def read_emg(path: Path, names: list[str]) -> Table:
    """Read a table of EMG; columns that belong to none of the torque generators `names` are reported."""
    table = read_storage(path)
    if others := [column for column in table.columns if column not in ("time", *names)]:
        tell(
            f"{path}: columns left out because they do not belong to a generator: "
            f"{', '.join(others[:MOST_NAMED])}"
        )
    return table
