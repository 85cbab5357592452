"""Tables of joint angles and moments for fits of torque generators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.methods.generators.emg import torque_of
from rtsim.models.generator_sets import generators_of

KNEE, HIP = "knee_flexion_r", "hip_flexion_r"
N = 81


def knee_and_hip(folder: Path, moments: Mapping[str, NDArray[np.float64]] | None = None) -> Path:
    """A table of a knee and a hip by extensors 1.3 and 0.5 times as strong as the gymnast's, most active at
    0.25 s; moments : (81,) [N m], of joints in the place of these.
    """
    t = np.linspace(0.0, 1.0, N)
    columns, names = [t], ["time"]
    for coordinate, strength, middle_deg in ((KNEE, 1.3, 50.0), (HIP, 0.5, 20.0)):
        one = next(one for one in generators_of("planar") if one.name == f"{coordinate}_extensor")
        one = one._replace(fit=(1.0, 1.0, 0.0, 0.0, strength))
        q = np.radians(middle_deg) + 0.15 * np.cos(2.0 * np.pi * t)
        tau = torque_of(one, q, np.gradient(q, t), np.exp(-(((t - 0.25) / 0.1) ** 2)))
        columns += [np.degrees(q), tau if moments is None else moments.get(coordinate, tau)]
        names += [coordinate, f"{coordinate}_moment"]
    rows = "\n".join("\t".join(f"{value:.9f}" for value in row) for row in np.column_stack(columns))
    path = folder / "motion.sto"
    head = f"m\nversion=1\nnRows={N}\nnColumns={len(names)}\ninDegrees=yes\nendheader\n"
    path.write_text(head + "\t".join(names) + "\n" + rows + "\n")
    return path
