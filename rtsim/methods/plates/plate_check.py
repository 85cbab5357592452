"""Check whether force plate data are possible for a person on them, and name the probable mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS, FAR, NONE, TWO_FEET, UNSEEN, new_rules
from kernels.plates.plate_contact import LOADED, Plates
from rtsim.files.forces.force_trial import THRESHOLD
from rtsim.files.markers.axes import AXIS_NAMES
from rtsim.methods.plates.plate_corrections import EXPLAINS, PlateContacts, corrections, displaced
from rtsim.methods.plates.plate_loads import assign

FloatArray = NDArray[np.float64]

GRAVITY = 9.81
"""[m/s2]"""
WEIGHT_OFF = 0.05
"""Fraction by which measured weight may differ from body mass times gravity without being reported."""
PEAK = 1.2
"""Approximate peak force of level walking, as a fraction of the weight."""
LEAST_PEAK, MOST_USUAL = 0.6, 6.0
"""Limits for somebody who never stands still, in weights: a greatest force below the first, or a median
above the second, is reported."""
GOES_ABOUT, AT_FLOOR = 0.25, 0.1
"""A foot that is slower [m/s] and lower above the lowest plate [m] may stand on the floor."""
STANDS = 0.05
"""Feet slower than this stand [m/s]."""
STANDS_S = 0.2
"""Shortest time of standing in all that is weighed [s]: at a step both feet may rest for a moment."""
EMPTY = 0.08
"""Load of all plates together, in weights, below which nobody stands: one who does would be 0.10 with
kilograms sent as newtons, the smallest of the usual mistakes of units beside kilonewtons."""
AXIS_CLEAR = 2.0
"""Another axis than Y counts as the vertical one if forces along it are so many times greater."""
UNDER = 0.98
"""Fraction of the loaded frames with the centre of pressure under a foot above which data are correct."""
TIE = 0.02
"""Corrections with which the fractions of frames differ by no more than this count as equally good."""
UNITS = {
    1e-3: "kilonewtons sent as newtons",
    1e3: "millinewtons sent as newtons",
    1.0 / GRAVITY: "kilograms sent as newtons",
    1.0 / 4.448: "pounds sent as newtons",
}
UNIT_OFF = 0.2
SIDES = {"right": re.compile(r"(^|_)(r|right)(_|$)"), "left": re.compile(r"(^|_)(l|left)(_|$)")}


OF_UNITS = ("moment_unit", "point_unit")
UNUSABLE = ("vertical", "down", "elsewhere")
"""Findings after which the data of no plate can be used."""
MOSTLY = 0.75
"""Fraction of the load away from all feet above which plates and markers do not belong together."""
MOST_OF_OTHER = 0.5
"""If only one foot has markers: fraction of the loaded frames with the centre of pressure under this foot
above which the plate counts as correct, as the other foot may load it in the other frames."""
PRESSED = 200.0
"""Mean horizontal force above which a plate may be a plate with wrong axes, not a handle [N]."""


class PlateFinding(NamedTuple):
    """A fault of force plates, or a remark on them.

    name : kind of the finding: weight, force_unit, moment_unit, point_unit, origin, down, vertical, turned,
        mirrored, exchanged, displaced, swapped, off_plate, far, elsewhere, side, two_feet, or idle
    plate : index of the plate, -1 = of all
    figure : size of the fault, a number whose meaning depends on the kind
    sentence : the finding and its remedy
    """

    name: str
    plate: int
    figure: float
    sentence: str


def check_plates(
    names: Sequence[str],
    plates: Plates,
    force: FloatArray,
    moment: FloatArray,
    times: FloatArray,
    feet: FloatArray,
    mass: float | None = None,
    origins: FloatArray | None = None,
    pressed: Sequence[str] = (),
) -> list[PlateFinding]:
    """Check the wrenches of plates on which a person stands or walks; return all faults that are found.

    names, plates : of the n_plate plates
    force, moment : (n, n_plate, 3) wrench meant to act on the person, about the ground origin; NaN = missing
    times : (n,) [s]
    feet : (n, 2, 2, 3) - heel and tip of the toes of the right and the left foot [m]; NaN = not seen
    mass : mass of the person [kg], if known
    origins : (n_plate, 3) from measuring origin to middle of the surface, in ground [m]; None = not known
    pressed : names of the bodies to which the plates are assigned; the side of a foot that a plate should
        measure is then read from these names, not from the names of the plates
    """
    force, moment = np.ascontiguousarray(force), np.ascontiguousarray(moment)
    heavy = force[np.linalg.norm(np.nan_to_num(force), axis=2) >= THRESHOLD]
    if not np.isfinite(force).any():
        return [
            PlateFinding("idle", -1, 0.0, "No force was measured: all samples of the plates are missing.")
        ]
    if heavy.size == 0 and not np.isfinite(force).all():
        return [_unmeasured(force)]
    if heavy.size == 0:
        return [_idle(force, mass)]
    mean = heavy.mean(axis=0)
    findings = []
    axis = int(np.argmax(np.abs(mean)))
    if axis != 1 and abs(mean[axis]) >= AXIS_CLEAR * abs(mean[1]):
        return [_vertical(mean, axis)]
    if lying := [
        found for p, name in enumerate(names) if (found := _lies(force[:, p], plates.axes[p, 2], p, name))
    ]:
        return lying
    if mean[1] < -THRESHOLD:  # less is an offset of plates on which nobody is
        findings.append(
            PlateFinding(
                "down", -1, float(mean[1]),
                f"The plates push the person down ({mean[1]:.0f} N on the average): these are the forces of "
                "the person on the plates. Negate forces and moments.",
            )
        )  # fmt: skip
        force, moment = -force, -moment
    if mass is not None and (most := _greatest(force)) < EMPTY * mass * GRAVITY:
        return [_nobody(most, mass)]
    contact = PlateContacts(plates, force, moment, feet)
    findings += _weight(contact, times, mass)
    for p in range(len(names)):
        findings += _position(contact, names, p, None if origins is None else origins[p])
    shares, status = assign(plates, force, contact.centre, contact.loaded, feet, times, new_rules())
    findings += _elsewhere(contact, status, findings)
    return [*findings, *_feet(names, shares, status, contact.loaded, pressed)]


def _elsewhere(
    contact: PlateContacts, status: NDArray[np.int64], findings: Sequence[PlateFinding]
) -> list[PlateFinding]:
    """Report if the plates bear most of the load where no foot is, or if their data are in another unit."""
    loaded = (contact.loaded == LOADED) & contact.seen[:, None]
    if not loaded.any():
        return []
    weight = np.where(loaded, contact.force[..., 1], 0.0)
    far = (status & FAR) != 0
    if contact.one_foot:  # what is not under it may be under the other, unless that would be a mistake
        far = ((status & UNSEEN) != 0) & [bool(found) for found in _of_plates(findings, loaded.shape[1])]
    far |= [any(name in OF_UNITS for name in found) for found in _of_plates(findings, loaded.shape[1])]
    off = float(weight[loaded & far].sum() / weight.sum())
    if off <= MOSTLY:
        return []
    return [
        PlateFinding(
            "elsewhere", -1, off,
            f"{100 * off:.0f} % of the load on the plates acts where no foot is, or has a wrong unit: the "
            "forces belong to another recording, or the plates lie elsewhere, or points, moments or their "
            "units are wrong. The forces on the feet are not known.",
        )
    ]  # fmt: skip


def _of_plates(findings: Sequence[PlateFinding], n_plate: int) -> list[list[str]]:
    """Return for each plate the kinds of its findings."""
    return [[finding.name for finding in findings if finding.plate == p] for p in range(n_plate)]


def _lies(force: FloatArray, normal: FloatArray, p: int, name: str) -> PlateFinding | None:
    """Return the finding for a plate p that is pushed along its surface, not pressed; force : (n, 3) [N]."""
    heavy = force[np.linalg.norm(np.nan_to_num(force), axis=1) >= THRESHOLD]
    if not heavy.size:
        return None
    pressed, mean = abs(float(heavy.mean(axis=0) @ normal)), np.abs(heavy.mean(axis=0))
    axis = int(np.argmax(mean))
    if axis == 1 or mean[axis] < max(PRESSED, AXIS_CLEAR * mean[1], AXIS_CLEAR * pressed):
        return None
    return PlateFinding(
        "vertical", p, float(mean[axis]),
        f"The forces of {name} act along {AXIS_NAMES[axis]} ({mean[axis]:.0f} N on the average, "
        f"{mean[1]:.0f} N along Y): exchange its columns or channels where the file is made.",
    )  # fmt: skip


def _unmeasured(force: FloatArray) -> PlateFinding:
    part = float(np.isfinite(force).all(axis=2).mean())
    return PlateFinding(
        "idle", -1, part,
        f"The plates were measured in {100 * part:.0f} % of the readings, and in these no plate bore "
        f"{THRESHOLD:g} N or more: the loads of the feet are missing.",
    )  # fmt: skip


def _idle(force: FloatArray, mass: float | None) -> PlateFinding:
    most = float(np.nanmax(np.linalg.norm(force, axis=2), initial=0.0))
    said = f"No plate bore {THRESHOLD:g} N or more; the greatest force was {most:.3g} N"
    if most > 0.0 and mass is not None:
        unit = _unit_of(most / (mass * GRAVITY))
        said += f", which looks like {unit}." if unit else ": volts or kilonewtons sent as newtons?"
    return PlateFinding("idle", -1, most, said if said.endswith(("?", ".")) else f"{said}.")


def _greatest(force: FloatArray) -> float:
    """Return the greatest total vertical force [N] of plates with forces (n, n_plate, 3); NaN counts as 0."""
    return float(np.nan_to_num(force[:, :, 1]).sum(axis=1).max(initial=0.0))


def _nobody(most: float, mass: float) -> PlateFinding:
    """Return the finding for plates with only noise and vibration: the person stands beside them."""
    return PlateFinding(
        "idle", -1, most,
        f"The plates together bear {most:.3g} N at the most, {100 * most / (mass * GRAVITY):.0f} % of the "
        f"weight of {mass:.4g} kg: nobody stands on them.",
    )  # fmt: skip


def _vertical(mean: FloatArray, axis: int) -> PlateFinding:
    sign = "" if mean[axis] > 0.0 else "-"
    return PlateFinding(
        "vertical", -1, float(mean[axis]),
        f"The forces act along {sign}{AXIS_NAMES[axis]} ({abs(mean[axis]):.0f} N on the average, "
        f"{mean[1]:.0f} N along Y): {AXIS_NAMES[axis]} looks like the vertical. Turn forces and moments as "
        "the markers are turned, where the file is made.",
    )  # fmt: skip


def _unit_of(ratio: float) -> str:
    """Return the unit whose confusion with newtons makes a weight `ratio` times too large, "" = none."""
    near = [name for factor, name in UNITS.items() if abs(ratio / factor - 1.0) < UNIT_OFF]
    return near[0] if near else ""


def _weight(contact: PlateContacts, times: FloatArray, mass: float | None) -> list[PlateFinding]:
    """Compare the weight of a person who stands with both feet on plates with the mass."""
    if mass is None or len(times) < 2:
        return []
    speed = np.linalg.norm(np.gradient(contact.feet, times, axis=0), axis=-1)
    stands = (speed < STANDS).all(axis=(1, 2))
    shares, _ = assign(
        contact.plates, contact.force, contact.centre, contact.loaded, contact.feet, times, new_rules()
    )
    stands &= (shares != NONE).any(axis=1).all(axis=1)
    measured = np.isfinite(contact.force).all(axis=(1, 2))  # else nobody knows what all plates bear
    stands &= measured
    if stands.sum() * float(np.median(np.diff(times))) < STANDS_S:
        heights = contact.feet[..., 1].min(axis=2) - contact.plates.centre[:, 1].min()
        borne = (shares != NONE).any(axis=1)
        beside = ~borne & ((speed < GOES_ABOUT).any(axis=2) & (heights < AT_FLOOR) | np.isnan(heights))
        return _load(contact.force[measured], ~beside.any(axis=1)[measured], mass)
    weight = float(contact.force[stands, :, 1].sum(axis=1).mean())
    off = weight / (mass * GRAVITY) - 1.0
    if abs(off) <= WEIGHT_OFF:
        return []
    unit = _unit_of(1.0 + off)
    said = f"The plates measure {weight:.4g} N in standing, and {mass:.4g} kg weigh {mass * GRAVITY:.4g} N"
    if unit:
        return [PlateFinding("force_unit", -1, 1.0 + off, f"{said}: this looks like {unit}.")]
    return [
        PlateFinding(
            "weight", -1, off,
            f"{said}: {100.0 * off:+.1f} %. Tare the plates while nobody is on them, and check the "
            "mass and whether the person touches something else.",
        )
    ]  # fmt: skip


def _load(force: FloatArray, whole: NDArray[np.bool_], mass: float) -> list[PlateFinding]:
    """Compare the forces on all plates, (n, n_plate, 3), with the mass of a person who never stands still.

    whole : (n,) - whether no foot can stand beside the plates in a frame; a foot that is not visible can
    """
    total = force[:, :, 1].sum(axis=1)
    if not (total >= THRESHOLD).any():
        return []
    peak, usual = float(total.max()), float(np.median(total[total >= THRESHOLD]))
    weight = mass * GRAVITY
    if peak >= LEAST_PEAK * weight and usual <= MOST_USUAL * weight:
        return []
    unit = _unit_of(peak / weight / PEAK)
    if not unit and usual <= MOST_USUAL * weight and not (total[whole] >= THRESHOLD).any():
        return []  # the rest is borne by what is no plate
    guess = f"this looks like {unit}" if unit else "check the unit of the forces and the mass"
    return [
        PlateFinding(
            "force_unit", -1, peak / weight,
            f"The plates bear {peak:.4g} N at the most, and {mass:.4g} kg weigh {weight:.4g} N: {guess}.",
        )
    ]  # fmt: skip


def _position(
    contact: PlateContacts, names: Sequence[str], p: int, origin: FloatArray | None
) -> list[PlateFinding]:
    """Check whether plate p is pressed where feet are; if not, find the correction that would make it so."""
    if not ((contact.loaded[:, p] == LOADED) & contact.seen).any():
        return []
    now = contact.under(p, contact.force[:, p], contact.moment[:, p])
    beyond = contact.beyond(p)
    if contact.one_foot and beyond <= 1.0 - UNDER and (now > MOST_OF_OTHER or not contact.moves(p)):
        return []
    if kept := _in_one_place(contact, names, p, origin):
        return kept
    together = contact.between(p)
    if now + together >= UNDER and beyond <= 1.0 - UNDER:
        return []
    found = list(corrections(contact, names, p, origin))
    best = max((share for share, _, _ in found), default=0.0)
    if best < max(EXPLAINS, now + 0.1) and (moved := displaced(contact, names[p], p)):
        found, best = [moved], moved[0]
    if best >= max(EXPLAINS, now + 0.1):
        # Where a person stands still, more than one mistake may put a point under a foot: all are told.
        likely = [(name, said) for share, name, said in found if share >= best - TIE]
        said = " Or: ".join(said for _, said in likely)
        return [PlateFinding(likely[0][0], p, best, f"{said} {_then(best)}")]
    if beyond > 1.0 - UNDER:
        return [
            PlateFinding(
                "off_plate", p, beyond,
                f"{names[p]} has its centre of pressure outside its surface in {100 * beyond:.0f} % of "
                "its frames: check its corners, its origin and the unit of its moments.",
            )
        ]  # fmt: skip
    if contact.one_foot:  # the other may press it
        return []
    off = 1.0 - now - together
    return [
        PlateFinding(
            "far", p, off,
            f"In {100 * off:.0f} % of its frames {names[p]} has its centre of pressure where no foot "
            "is: check where the plate lies, and that markers and forces are of one recording, one "
            "clock and one laboratory.",
        )
    ]  # fmt: skip


def _in_one_place(
    contact: PlateContacts, names: Sequence[str], p: int, origin: FloatArray | None
) -> list[PlateFinding]:
    """Report a centre of pressure that stays in place under a walking foot, but would move along the foot if
    the moments were in another unit.

    Other checks miss this if the foot is in the middle of the plate: the centre is then under the foot.
    """
    if not contact.keeps(p):
        return []
    units = [one for one in corrections(contact, names, p, origin) if one[1] in OF_UNITS]
    likely = [one for one in units if one[0] >= EXPLAINS]
    if not likely:
        return []
    share, name, said = likely[-1]  # by the greatest factor, which spreads the pressure most
    return [PlateFinding(name, p, share, f"{said} {_then(share)}")]


def _then(share: float) -> str:
    return f"With this change its centre of pressure is under a foot in {100 * share:.0f} % of its frames."


def _feet(
    names: Sequence[str],
    shares: NDArray[np.int64],
    status: NDArray[np.int64],
    loaded: NDArray[np.int64],
    pressed: Sequence[str],
) -> list[PlateFinding]:
    """Report plates that are named after one side but loaded by the other, and plates with two feet."""
    findings = []
    for p, name in enumerate(names):
        n_loaded = int((loaded[:, p] == LOADED).sum())
        two = int(((status[:, p] & TWO_FEET) != 0).sum())
        if two:
            findings.append(
                PlateFinding(
                    "two_feet", p, two / n_loaded,
                    f"Two feet are on {name} in {two} of {n_loaded} frames: the load of each is "
                    "unknown, and moments of both legs are left out there.",
                )
            )  # fmt: skip
        borne = (shares[:, p] == BEARS).sum(axis=0)
        for f, (side, pattern) in enumerate(SIDES.items()):
            other = 1 - f
            said = pressed[p] if pressed else name
            if pattern.search(said.lower()) and borne[other] > borne[f]:
                whose = (
                    f"{name} acts on {said} in the loads" if pressed else f"the name of {name} says {side}"
                )
                findings.append(
                    PlateFinding(
                        "side", p, float(borne[other] / max(1, borne.sum())),
                        f"{whose}, but the other foot stands on it in {borne[other]} frames: check the "
                        "names of "
                        f"{'bodies in the loads' if pressed else 'plates'} and the sides of markers.",
                    )
                )  # fmt: skip
    return findings
