"""The geometry of a knee mechanism, identified from a measured motion, as text and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.knee.knee_fit import KneeFit
from rtsim.methods.knee.knee_geometry import COMPARTMENTS, HELD, LIGAMENTS, KneeGeometry

Array = NDArray[np.float64]


def geometry_rows(geometry: KneeGeometry) -> list[tuple[str, str, Array]]:
    """Return the parameters of the knee as rows of name, unit and values, lengths in mm, in the order of
    table 1 of Sancisi et al. (2017).
    """
    rows: list[tuple[str, str, Array]] = []
    for k, name in enumerate(COMPARTMENTS):
        rows.append((f"{name} condyle", "mm", 1e3 * geometry.condyles[k]))
        rows.append((f"{name} radius", "mm", 1e3 * geometry.radii[k : k + 1]))
        rows.append((f"{name} plateau", "mm", 1e3 * geometry.plateaus[k]))
        rows.append((f"{name} normal", "1", geometry.normals[k]))
    for k, name in enumerate(LIGAMENTS):
        rows.append((f"{name} origin", "mm", 1e3 * geometry.origins[k]))
        rows.append((f"{name} insertion", "mm", 1e3 * geometry.insertions[k]))
        if k < HELD:
            rows.append((f"{name} length", "mm", 1e3 * geometry.lengths[k : k + 1]))
    return rows


def fit_as_text(fit: KneeFit) -> str:
    """Return a fitted knee as text: the parameters in table 1 of Sancisi et al. (2017) before and after the
    adjustment, the polynomials of ligament length over flexion (eq. 1 there), and the difference between the
    measured motion and that of the mechanism.
    """
    turned, moved = fit.misfits
    lines = [f"{'':20} {'unit':5} {'preliminary':>30} {'adjusted':>30}"]
    for (name, unit, before), (_, _, after) in zip(
        geometry_rows(fit.preliminary), geometry_rows(fit.geometry), strict=True
    ):
        lines.append(f"{name:20} {unit:5} {numbers(before):>30} {numbers(after):>30}".rstrip())
    lines.append("")
    for name, mean, neutral, row in zip(
        LIGAMENTS, fit.means, fit.geometry.neutral_lengths, fit.polynomials, strict=True
    ):
        lines.append(
            f"{name}: mean length {1e3 * mean:.3f} mm, neutral length d(0) {1e3 * neutral:.3f} mm, "
            f"polynomial a1 to a7 {', '.join(f'{a:.4g}' for a in row)}"
        )
    for name, (sphere, plane) in fit.surface_misfits.items():
        lines.append(
            f"{name} surfaces, RMS distance of their points: {1e3 * sphere:.3f} mm from the sphere, "
            f"{1e3 * plane:.3f} mm from the plane"
        )
    lines.append(
        f"RMS difference of the fitted knee from the measured motion: {np.degrees(turned):.3f} degrees, "
        f"{1e3 * moved:.3f} mm"
    )
    return "\n".join(lines)


def numbers(values: Array) -> str:
    """Return values as text with four decimals, as in table 1 of Sancisi et al. (2017)."""
    return "  ".join(f"{value:.4f}" for value in values)


def fit_as_document(fit: KneeFit) -> dict[str, Any]:
    """Return a fitted knee as a dictionary for JSON, in m and rad."""
    return {
        "preliminary": {key: value.tolist() for key, value in fit.preliminary._asdict().items()},
        "adjusted": {key: value.tolist() for key, value in fit.geometry._asdict().items()},
        "mean_lengths": dict(zip(LIGAMENTS, fit.means.tolist(), strict=True)),
        "neutral_lengths": dict(zip(LIGAMENTS, fit.geometry.neutral_lengths.tolist(), strict=True)),
        "polynomials": dict(zip(LIGAMENTS, fit.polynomials.tolist(), strict=True)),
        "surface_misfits": {name: list(pair) for name, pair in fit.surface_misfits.items()},
        "motion_misfit": {"rotation": fit.misfits[0], "displacement": fit.misfits[1]},
        "at_bound": list(fit.bounded),
    }
