"""Moment arms as a table for people, in mm and degrees, or as JSON for programs, in m and rad."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.muscles.moment_arms import MomentArms, SweepPoint

Array = NDArray[np.float64]

SMALLEST_MM = 1e-4
"""Moment arms below this count as zero [mm]: round-off of a muscle that passes the joint by."""


def arms_at(
    arms: MomentArms, q: Array, rows: list[int], angles: list[str], ways: tuple[str, ...], as_json: bool
) -> str:
    """Return a table of the moment arms of the chosen muscles about the chosen joint angles, in one pose of
    the model.

    q : (n_q,) coordinates of the pose
    rows : indices of the muscles
    angles : names of the angles
    ways : names of the methods by which moment arms are computed, each with a table of its own
    as_json : whether the answer is JSON instead of text
    """
    model = arms.model
    columns = [arms.angle_index(name) for name in angles]
    lengths, failed = arms.lengths(q), arms.failures(q)
    by_way = {way: arms.at(q, way)[:, columns] for way in ways}
    names = [model.names.muscles[m] for m in rows]
    if as_json:
        return document(
            model.name,
            angles=angles,
            muscles=names,
            length_m=plain(lengths[rows]),
            moment_arm_m={way: [plain(found[m]) for m in rows] for way, found in by_way.items()},
            failed={name: failed[name] for name in names if name in failed},
        )
    first = 1e3 * by_way[ways[0]]
    kept = [k for k in range(len(angles)) if (abs(first[rows, k]) > SMALLEST_MM).any()] or list(
        range(len(angles))
    )
    width = max(len(name) for name in names) + 2
    heads = [f"{angles[k]:>{max(12, len(angles[k]) + 2)}s}" for k in kept]
    lines = [f"moment arms [mm] of {model.name}; positive = a pull of the muscle increases the angle"]
    lines += [f"{'muscle':{width}s}{'length [mm]':>12s}" + "".join(heads)]
    for way in ways:
        if len(ways) > 1:
            lines.append(f"by {way}")
        for m, name in zip(rows, names, strict=True):
            cells = [f"{1e3 * by_way[way][m, k]:{len(head)}.3f}" for k, head in zip(kept, heads, strict=True)]
            lines.append(f"{name:{width}s}{1e3 * lengths[m]:12.2f}" + "".join(cells))
    lines += [f"nan: {name} has no moment arm: {failed[name]}" for name in names if name in failed]
    if len(ways) > 1:
        lines.append(f"largest difference between the methods: {spread(list(by_way.values())):.2g} mm")
    return "\n".join(lines)


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
    names = [model.names.muscles[m] for m in rows]
    first = next(iter(swept.values()))
    if as_json:
        return document(
            model.name,
            angle=angle,
            unit="rad" if arms.is_rotation(angle) else "m",
            values=[point.value for point in first],
            muscles=names,
            length_m=[plain(point.lengths[rows]) for point in first],
            moment_arm_m={way: [plain(p.arms[rows]) for p in points] for way, points in swept.items()},
            failed=[{name: p.failed[name] for name in names if name in p.failed} for p in first],
        )
    unit = "deg" if arms.is_rotation(angle) else "mm"
    widths = [max(10, len(name) + 2) for name in names]
    lines = [f"moment arms [mm] of {model.name} about {angle}"]
    lines.append(
        f"{angle + ' [' + unit + ']':>24s}"
        + "".join(f"{n:>{w}s}" for n, w in zip(names, widths, strict=True))
    )
    for way, points in swept.items():
        if len(swept) > 1:
            lines.append(f"by {way}")
        for point in points:
            cells = [f"{1e3 * point.arms[m]:{w}.3f}" for m, w in zip(rows, widths, strict=True)]
            lines.append(f"{arms.shown(angle, point.value):24.2f}" + "".join(cells))
    for name in names:
        lines += gaps(
            name, [(arms.shown(angle, p.value), p.failed[name]) for p in first if name in p.failed], unit
        )
    if len(swept) > 1:
        found = [np.array([point.arms[rows] for point in points]) for points in swept.values()]
        lines.append(f"largest difference between the methods: {spread(found):.2g} mm")
    return "\n".join(lines)


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
    """Return the largest difference between several arrays of the same moment arms [mm]; entries with NaN are
    left out, and the result is NaN if all are.
    """
    stack = np.array(found)
    apart = stack.max(axis=0) - stack.min(axis=0)
    known = apart[np.isfinite(apart)]
    return float(1e3 * known.max(initial=0.0)) if not np.isnan(stack).all() else math.nan


def plain(values: Array) -> list[float | None]:
    """Return moment arms or lengths as numbers for JSON, with None in place of NaN."""
    return [float(v) if math.isfinite(v) else None for v in values]


def document(model: str, **entries: Any) -> str:
    return json.dumps({"model": model, **entries}, indent=1)
