"""Fits of joint torque generators as text: tables as in Millard et al. (2019), JSON, and a config file with
the person's generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees, nan
from typing import Any

import numpy as np

from kernels.torque_generator.torque import S_TAU
from rtsim.config.models.torque_generator_schema import MOST_STRENGTH_NM
from rtsim.files.toml_text import entry
from rtsim.methods.generators.strength_bounds import StrengthBounds
from rtsim.methods.generators.torque_generator_fit import Assessment, FittedGenerator
from rtsim.methods.generators.torque_generator_search import ROW_WORDS
from rtsim.models.feet import side_of_name
from rtsim.models.packing.torque_generators import UNFITTED

HEAD = f"{'generator':34s} {'tau_o*':>7s} {'s_A':>6s} {'s_V':>6s} {'D_P deg':>8s} {'l_P':>6s} {'s_tau':>6s}"

DIGITS, UNCHANGED = 9, 1e-5
"""Digits of numbers that are written in a config, and relative change that counts as none."""
MOST_SCALE = 5.0
"""Growth of s_tau that nobody's strength explains."""


def table(fits: Sequence[FittedGenerator]) -> str:
    """Return a table of fitted joint torque generators like table B.3 of Millard et al. (2019), with a row
    for every generator and a sentence on its fit.
    """
    lines = [f"{HEAD}  before -> after"]
    for fit in fits:
        if fit.fault:
            lines.append(f"{fit.placed.name:34s} {fit.placed.spec.strength_Nm:7.1f}  not fitted: {fit.fault}")
            lines += [f"    {text}" for text in lacked(fit)]
            continue
        lines.append(f"{row(fit)}  {course(fit)}")
        if fit.changed:
            lines += [f"    {text}" for text in story(fit)]
    if fits and not any(fit.changed or fit.fault for fit in fits):
        lines.append("no generator has to change: all generators can produce the moments of this motion")
    return "\n".join(lines)


def row(fit: FittedGenerator) -> str:
    """Return the row of the table for a fitted torque generator: name, strength and the five fitted
    parameters.
    """
    s_A, s_V, shift, blend, s_tau = fit.x
    return (
        f"{fit.placed.name:34s} {fit.placed.spec.strength_Nm:7.1f} {s_A:6.3f} {s_V:6.3f} "
        f"{degrees(shift):8.2f} {blend:6.3f} {s_tau:6.3f}"
    )


def course(fit: FittedGenerator) -> str:
    """Return a text on a fit: how the generator's torque compared with the required torque before and after
    it, and the largest activation after it.
    """
    assert fit.before is not None
    assert fit.after is not None
    return f"{fit.before.words} -> {fit.after.words}, activation at most {fit.after.activation.max():.3f}"


def story(fit: FittedGenerator) -> list[str]:
    """Return sentences on the fit of a joint torque generator: why it could not produce the required torque
    before, how far its parameters were changed and what limited the change, and which other minima were
    found.
    """
    said = lacked(fit)
    held = "; ".join(f"{words} at {time:.2f} s" for time, words in fit.holding)
    away = f"{np.sqrt(fit.objective):.3f} (squared {fit.objective:.4f})"
    origin = "the default parameters" if fit.placed.fit == UNFITTED else "the parameters of the base set"
    said.append(
        f"change of the fitted parameters from {origin} (root of the sum of squares): {away}; it cannot be "
        f"smaller because of: {held}"
    )
    if len(fit.basins) > 1:
        others = ", ".join(f"{basin.objective:.4f} ({basin.n_start} starts)" for basin in fit.basins[1:])
        where = (
            "this one"
            if fit.default == 0
            else "none"
            if fit.default < 0
            else f"minimum number {fit.default + 1}"
        )
        said.append(
            f"squared distances of other minima: {others}; the search from the default parameters ends in "
            f"{where}"
        )
    if fit.cut_short:
        said.append("interrupted before all initial guesses were tried")
    return said


def lacked(fit: FittedGenerator) -> list[str]:
    """Return a sentence on why the generator could not produce the required torque before the fit: the first
    joint angles at which its passive torque was too large or its strength too small, and the smallest and
    largest required activation; [] if it could.
    """
    before = fit.before
    if before is None or not (before.too_stiff.any() or before.too_weak.any()):
        return []
    angle = np.degrees(fit.flexion)
    parts = []
    if before.too_stiff.any():
        below = "below the EMG" if before.driven else "below 0"
        first, least = angle[before.too_stiff][0], before.activation.min()
        parts.append(
            f"the required activation is {below}, first at {first:.1f} deg of flexion; its minimum is "
            f"{least:.3f}"
        )
    if before.too_weak.any():
        first = angle[before.too_weak][0]
        parts.append(f"the generator is too weak, first at {first:.1f} deg of flexion")
    parts.append(f"greatest activation {before.activation.max():.3f}")
    return ["before the fit: " + "; ".join(parts)]


def bounds_table(bounds: Sequence[StrengthBounds]) -> str:
    """Return a table like table B.4 of Millard et al. (2019), right and left side by side: for each torque
    generator the strength at the start of its fit (tau_o*), and the person's least and greatest strength.

    Generators of joints without a side in their names have rows and columns of their own.
    """
    rows: dict[str, dict[str, StrengthBounds]] = {}
    for one in bounds:
        side = side_of_name(one.fit.placed.joint.coordinate)[:1]
        row = rows.setdefault(one.fit.placed.muscle if side else one.fit.placed.name, {})
        if side in row:  # a second joint of this side has a row of its own
            row = rows.setdefault(one.fit.placed.name, {})
        row[side] = one
    told = {side for row in rows.values() for side in row}
    sides = [*("rl" if told - {""} else ""), *([""] if "" in told else [])]
    heads = [f"{what} {side}".rstrip() for what in ("tau_o*", "least", "greatest") for side in sides]
    lines = [f"{'N m':24s}" + "".join(f" {head:>10s}" for head in heads)]
    for name, row in rows.items():
        known = [row.get(side) for side in sides]
        strengths = [nan if one is None else one.fit.placed.spec.strength_Nm for one in known]
        least = [nan if one is None else one.least for one in known]
        greatest = [nan if one is None else one.greatest for one in known]
        numbers = "".join(f" {value:10.1f}" for value in (*strengths, *least, *greatest))
        lines.append(f"{name:24s}{numbers}")
    return "\n".join(lines).replace("  nan", "    -")


def doubts(fits: Sequence[FittedGenerator]) -> list[str]:
    """Return sentences on torque generators that the fit made stronger than is plausible for any person."""
    said = []
    for fit in fits:
        strength = fit.placed.spec.strength_Nm * float(fit.x[S_TAU])
        grown = float(fit.x[S_TAU]) / fit.placed.fit[S_TAU]
        stronger = not fit.fault and grown > 1.0 + UNCHANGED
        if not stronger or not (grown > MOST_SCALE or strength > MOST_STRENGTH_NM):
            continue
        at = next((f", as at {time:.2f} s" for time, words in fit.holding if words == ROW_WORDS[0]), "")
        said.append(
            f"{fit.placed.name} has become {grown:.3g} times as strong, {strength:.4g} N m: its "
            f"moment may have a spike{at}, or the strength before the fit is far too small"
        )
    return said


def contradictions(bounds: Sequence[StrengthBounds]) -> list[str]:
    """Return sentences on torque generators whose least strength, which the fit to the motion requires, is
    above the greatest, which follows from measured isometric torques.
    """
    above = [one.fit.placed.name for one in bounds if one.least > one.greatest]
    if not above:
        return []
    return [
        f"{', '.join(above)}: the least strength is above the greatest; the measured person is weaker than "
        "this motion needs (another size or age, a dynamometer that gave way), or its moments are too high"
    ]


def as_json(fits: Sequence[FittedGenerator], bounds: Sequence[StrengthBounds] = ()) -> dict[str, Any]:
    """Return the fits of all torque generators, and the bounds of their strength, for JSON, in rad
    and N m.
    """
    document: dict[str, Any] = {"generators": {fit.placed.name: one_as_json(fit) for fit in fits}}
    if bounds:
        document["strength_Nm"] = {
            one.fit.placed.name: {
                "least": None if np.isnan(one.least) else one.least,
                "greatest": None if np.isnan(one.greatest) else one.greatest,
            }
            for one in bounds
        }
    return document


def one_as_json(fit: FittedGenerator) -> dict[str, Any]:
    """Return the fit of one torque generator for JSON, in rad and N m."""
    if fit.fault:
        return {"fault": fit.fault} | ({"before": assessed(fit.before)} if fit.before is not None else {})
    assert fit.before is not None
    assert fit.after is not None
    return {
        "strength_Nm": fit.placed.spec.strength_Nm,
        "x": fit.x.tolist(),
        "x_before": list(fit.placed.fit),
        "objective": fit.objective,
        "changed": fit.changed,
        "holding": [{"time_s": time, "because": words} for time, words in fit.holding],
        "minima": [
            {"x": basin.x.tolist(), "objective": basin.objective, "n_start": basin.n_start}
            for basin in fit.basins
        ],
        "default_start": fit.default,
        "cut_short": fit.cut_short,
        "before": assessed(fit.before),
        "after": assessed(fit.after),
    }


def assessed(one: Assessment) -> dict[str, Any]:
    """Return the assessment of a torque generator as a dictionary for JSON: a description in words, the range
    of its activation, and its largest passive torque.
    """
    return {
        "words": one.words,
        "activation": [float(one.activation.min()), float(one.activation.max())],
        "passive": float(one.passive.max()),
    }


def config_text(
    fits: Sequence[FittedGenerator],
    name: str,
    base: str,
    source: str,
    strengths: dict[str, tuple[float, float]],
) -> str:
    """Return the text of a config file with a person's joint torque generators, based on another set of
    generators.

    A row replaces the row of the base set, so it states all values that differ from the default.

    name, base, source : name of the new set, name of the base set, and a text on where the values come from
    strengths : name of a generator -> its strength in the base set [N m], and the one that the model uses at
        the joint
    """
    lines = [entry("name", name), entry("source", source), entry("base", base)]
    for fit in fits:
        own = fit.placed.spec.strength_Nm
        of_muscle, at_joint = strengths[fit.placed.name]
        if fit.fault or not (fit.changed or own != at_joint):
            continue
        s_A, s_V, shift, blend, s_tau = (float(value) for value in fit.x)
        values = {
            "angle_scale": s_A, "speed_scale": s_V, "passive_shift_deg": degrees(shift),
            "passive_blend": blend, "strength_scale": s_tau,
        }  # fmt: skip
        lines += ["", f"[fits.{fit.placed.name}]"]
        lines += [entry("strength_Nm", own)] if own != of_muscle else []
        usual = dict(zip(values, UNFITTED, strict=True))
        lines += [
            entry(key, round(value, DIGITS))
            for key, value in values.items()
            if abs(value - usual[key]) > UNCHANGED
        ]
    return "\n".join([*lines, ""])
