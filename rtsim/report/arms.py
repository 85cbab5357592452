"""Moment arms as a table for people, in mm and degrees, or as JSON for programs, in m and rad; about a
displacement they have no unit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.muscles.moment_arms import MomentArms, SweepPoint

Array = NDArray[np.float64]

SMALLEST = 1e-7
"""Moment arms below this count as zero [m, 1]: round-off of a muscle that passes the joint by."""


class ArmScale(NamedTuple):
    """How moment arms about a joint angle [mm], or about a displacement [1], are written.

    factor, unit : from SI units to the written unit, and its name
    digits : decimals
    key : name in JSON, where the numbers are in SI units
    """

    factor: float
    unit: str
    digits: int
    key: str


ABOUT_ANGLE = ArmScale(factor=1e3, unit="mm", digits=3, key="moment_arm_m")
ABOUT_DISPLACEMENT = ArmScale(factor=1.0, unit="1", digits=5, key="moment_arm")


def scale_of(arms: MomentArms, angle: str) -> ArmScale:
    """Return how moment arms about an angle, or about a coordinate that is a displacement, are written."""
    return ABOUT_ANGLE if arms.is_rotation(angle) else ABOUT_DISPLACEMENT


def arms_at(
    arms: MomentArms, q: Array, rows: list[int], angles: list[str], ways: tuple[str, ...], as_json: bool
) -> str:
    """Return a table of the moment arms of the chosen muscles about the chosen joint angles, in one pose of
    the model.

    q : (n_q,) coordinates of the pose
    rows : indices of the muscles
    angles : names of the angles, or of coordinates that are displacements
    ways : names of the methods by which moment arms are computed, each with a table of its own
    as_json : whether the answer is JSON instead of text
    """
    model = arms.model
    columns = [arms.angle_index(name) for name in angles]
    scales = [scale_of(arms, name) for name in angles]
    lengths, failed = arms.lengths(q), arms.failures(q)
    by_way = {way: arms.at(q, way)[np.ix_(rows, columns)] for way in ways}
    names = [model.names.muscles[m] for m in rows]
    if as_json:
        return document(
            model.name,
            **json_columns(angles, scales, by_way),
            muscles=names,
            length_m=plain(lengths[rows]),
            failed={name: failed[name] for name in names if name in failed},
        )
    some = [k for k in range(len(angles)) if (abs(by_way[ways[0]][:, k]) > SMALLEST).any()]
    kept = some or list(range(len(angles)))
    width = max(len(name) for name in names) + 2
    titles = [f"{angles[k]} [1]" if scales[k] is ABOUT_DISPLACEMENT else angles[k] for k in kept]
    heads = [f"{title:>{max(12, len(title) + 2)}s}" for title in titles]
    unit = "[mm], or [1] where the head says so," if titles != [angles[k] for k in kept] else "[mm]"
    lines = [f"moment arms {unit} of {model.name}; positive = a pull of the muscle increases the angle"]
    lines += [f"{'muscle':{width}s}{'length [mm]':>12s}" + "".join(heads)]
    for way in ways:
        if len(ways) > 1:
            lines.append(f"by {way}")
        for row, name, length in zip(by_way[way], names, lengths[rows], strict=True):
            cells = [written(row[k], scales[k], len(head)) for k, head in zip(kept, heads, strict=True)]
            lines.append(f"{name:{width}s}{1e3 * length:12.2f}" + "".join(cells))
    lines += [f"nan: {name} has no moment arm: {failed[name]}" for name in names if name in failed]
    for scale in dict.fromkeys(scales) if len(ways) > 1 else ():
        alike = [k for k, one in enumerate(scales) if one is scale]
        lines.append(difference([found[:, alike] for found in by_way.values()], scale))
    return "\n".join(lines)


def json_columns(angles: list[str], scales: list[ArmScale], by_way: Mapping[str, Array]) -> dict[str, Any]:
    """Return the entries for JSON with moment arms in one pose: `angles` with `moment_arm_m`, and, if any
    were chosen, `displacements` with `moment_arm`.

    by_way : method -> moment arms (n_muscle, n_angle) [m, 1]
    """
    entries: dict[str, Any] = {}
    for name, scale in (("angles", ABOUT_ANGLE), ("displacements", ABOUT_DISPLACEMENT)):
        alike = [k for k, one in enumerate(scales) if one is scale]
        if alike or scale is ABOUT_ANGLE:
            entries[name] = [angles[k] for k in alike]
            entries[scale.key] = {way: [plain(row[alike]) for row in found] for way, found in by_way.items()}
    return entries


def arms_along(
    arms: MomentArms, angle: str, rows: list[int], swept: dict[str, list[SweepPoint]], as_json: bool
) -> str:
    """Return a table of moment arms of the chosen muscles about one joint angle, with one row for each value
    of the angle.

    rows : indices of the muscles
    swept : method by which moment arms are computed -> its results at successive values of the angle
    as_json : whether the answer is JSON instead of text
    """
    model = arms.model
    names, scale = [model.names.muscles[m] for m in rows], scale_of(arms, angle)
    first = next(iter(swept.values()))
    if as_json:
        return document(
            model.name,
            angle=angle,
            unit="rad" if arms.is_rotation(angle) else "m",
            values=[point.value for point in first],
            muscles=names,
            length_m=[plain(point.lengths[rows]) for point in first],
            **{scale.key: {way: [plain(p.arms[rows]) for p in points] for way, points in swept.items()}},
            failed=[{name: p.failed[name] for name in names if name in p.failed} for p in first],
        )
    unit = "deg" if arms.is_rotation(angle) else "mm"
    widths = [max(10, len(name) + 2) for name in names]
    lines = [f"moment arms [{scale.unit}] of {model.name} about {angle}"]
    lines.append(
        f"{angle + ' [' + unit + ']':>24s}"
        + "".join(f"{n:>{w}s}" for n, w in zip(names, widths, strict=True))
    )
    for way, points in swept.items():
        if len(swept) > 1:
            lines.append(f"by {way}")
        for point in points:
            cells = [written(point.arms[m], scale, w) for m, w in zip(rows, widths, strict=True)]
            lines.append(f"{arms.shown(angle, point.value):24.2f}" + "".join(cells))
    for name in names:
        lines += gaps(
            name, [(arms.shown(angle, p.value), p.failed[name]) for p in first if name in p.failed], unit
        )
    if len(swept) > 1:
        found = [np.array([point.arms[rows] for point in points]) for points in swept.values()]
        lines.append(difference(found, scale))
    return "\n".join(lines)


def written(arm: float, scale: ArmScale, width: int) -> str:
    """Return a moment arm [m, 1] as a cell of a table, of this width."""
    return f"{scale.factor * arm:{width}.{scale.digits}f}"


def difference(found: list[Array], scale: ArmScale) -> str:
    """Return a line of text on the largest difference between the methods; found : moment arms [m, 1] by
    each method
    """
    about = "about displacements " if scale is ABOUT_DISPLACEMENT else ""
    return f"largest difference between the methods: {about}{scale.factor * spread(found):.2g} {scale.unit}"


def gaps(name: str, failed: list[tuple[float, str]], unit: str) -> list[str]:
    """Return lines of text on the moment arms of a muscle that are missing in a sweep over an angle: one for
    each reason, with the range of angles concerned.

    failed : values of the angle with the reason; unit : unit of the angle
    """
    lines = []
    for reason in dict.fromkeys(reason for _, reason in failed):
        values = [value for value, other in failed if other == reason]
        n, ends = len(values), f"{min(values):.4g} to {max(values):.4g} {unit}"
        lines.append(
            f"nan: {name} has no moment arm: {reason} (at {n} value{'s' if n > 1 else ''} of {ends})"
        )
    return lines


def spread(found: list[Array]) -> float:
    """Return the largest difference between several arrays of the same moment arms; entries with NaN are left
    out, and the result is NaN if all are.
    """
    stack = np.array(found)
    apart = stack.max(axis=0) - stack.min(axis=0)
    known = apart[np.isfinite(apart)]
    return float(known.max(initial=0.0)) if not np.isnan(stack).all() else math.nan


def plain(values: Array) -> list[float | None]:
    """Return moment arms or lengths as numbers for JSON, with None in place of NaN."""
    return [float(v) if math.isfinite(v) else None for v in values]


def document(model: str, **entries: Any) -> str:
    return json.dumps({"model": model, **entries}, indent=1)
