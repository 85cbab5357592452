"""A small walker with its own markers: a pelvis in a plane, two legs of hinges, a muscle; and recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.files.markers.trc import trc_text
from rtsim.files.markers.trial import MarkerTrial
from rtsim.models.load import load_model
from rtsim.models.model import build
from tests.naive.tree import state

Array = NDArray[np.floating]
RATE, N_FRAME = 100.0, 80
PELVIS = """
name = "legs"
source = "made up"
[[bodies]]
name = "hips"
joint = "planar"
axes = [[1, 0, 0], [0, 1, 0]]
coordinates = [{ name = "forward" }, { name = "up", neutral_mm = 950.0 }, { name = "tilt" }]
mass_kg = 40.0
mass_centre_mm = [0.0, 200.0, 0.0]
inertia_kg_m2 = [1.0, 0.8, 1.2]
"""
LEG = """
[[bodies]]
name = "upper_{s}"
joint_name = "hip_{s}"
parent = "hips"
joint = "hinge"
axis = [0, 0, 1]
in_parent = {{ offset_mm = [0.0, 0.0, {z}] }}
coordinates = [{{ name = "hip_flexion_{s}" }}]
mass_kg = 8.0
mass_centre_mm = [0.0, -180.0, 0.0]
inertia_kg_m2 = [0.12, 0.03, 0.13]
[[bodies]]
name = "lower_{s}"
parent = "upper_{s}"
joint = "hinge"
axis = [0, 0, 1]
in_parent = {{ offset_mm = [0.0, -430.0, 0.0] }}
coordinates = [{{ name = "knee_{s}", neutral_deg = -5.0 }}]
mass_kg = 3.5
mass_centre_mm = [0.0, -180.0, 0.0]
inertia_kg_m2 = [0.05, 0.01, 0.05]
[[bodies]]
name = "sole_{s}"
parent = "lower_{s}"
joint = "hinge"
axis = [0, 0, 1]
in_parent = {{ offset_mm = [0.0, -420.0, 0.0] }}
coordinates = [{{ name = "ankle_{s}", neutral_deg = 5.0 }}]
mass_kg = 1.0
mass_centre_mm = [50.0, -40.0, 0.0]
inertia_kg_m2 = [0.001, 0.004, 0.004]
"""
MUSCLE = """
[[muscles]]
name = "calf"
path = [
  { segment = "lower_r", offset_mm = [-30, -100, 0] },
  { segment = "sole_r", offset_mm = [-50, -30, 0] },
]
"""
MARKER = '[[markers]]\nname = "{name}"\nsegment = "{segment}"\noffset_mm = {offset}\n'
PLACES = {
    "hips": ([100.0, 50.0, 100.0], [100.0, 50.0, -100.0], [-120.0, 60.0, 0.0]),
    "upper": ([40.0, -150.0, 30.0], [0.0, -400.0, 50.0]),
    "lower": ([40.0, -150.0, 30.0], [0.0, -400.0, 40.0]),
    "sole": ([-50.0, -60.0, 0.0], [140.0, -70.0, 45.0], [150.0, -70.0, -30.0]),
}
NEUTRAL = np.array([0.0, 0.95, 0.0, *(2 * (0.0, np.radians(-5.0), np.radians(5.0)))])
HEADER = ["name=grf", "version=1", "nRows={}", "nColumns=10", "inDegrees=yes", "endheader"]


def text(sides: str = "rl", muscle: bool = True, head: str = PELVIS) -> str:
    """The model's file."""
    parts = [head, *(LEG.format(s=s, z=100.0 if s == "r" else -100.0) for s in sides)]
    parts += [MUSCLE] if muscle and "r" in sides else []
    for segment, offsets in PLACES.items():
        for body in [segment] if segment == "hips" else [f"{segment}_{s}" for s in sides]:
            for k, (x, y, z) in enumerate(offsets):
                offset = [x, y, -z if body.endswith("_l") else z]
                parts.append(MARKER.format(name=f"{body}.{k}", segment=body, offset=offset))
    return "\n".join(parts)


def sideless_text() -> str:
    """The model's file with feet that neither names nor places tell apart."""
    found = text(muscle=False)
    for place in ("100.0", "-100.0"):
        found = found.replace(f"in_parent = {{ offset_mm = [0.0, 0.0, {place}] }}", "")
    for side, other in ("ra", "lb"):
        found = found.replace(f'_{side}"', f'_{other}"').replace(f"_{side}.", f"_{other}.")
    return found


def write_model(folder: Path, *args: object, **options: object) -> Path:
    """The model as a file of this folder."""
    path = folder / "legs.toml"
    path.write_text(text(*args, **options), encoding="utf-8")  # type: ignore[arg-type]
    return path


def write_trial(folder: Path, spec: ModelSpec) -> Path:
    """A knee bend of both legs, feet on the floor; positions are those of its markers, to the micrometre."""
    model, times = build(spec), np.arange(N_FRAME) / RATE
    bend = 0.3 * (1.0 - np.cos(2.0 * np.pi * times))
    positions = np.empty((N_FRAME, len(model.names.markers), 3))
    for k, x in enumerate(bend):
        q = NEUTRAL.copy()
        q[1] = 0.95 - 0.43 * (1.0 - np.cos(x)) - 0.42 * (1.0 - np.cos(x))
        q[3:6] = q[6:9] = x, np.radians(-5.0) - 2.0 * x, np.radians(5.0) + x
        at = state(model.tree, q)
        for m, (body, place) in enumerate(zip(model.markers.body, model.markers.position, strict=True)):
            positions[k, m] = at.point(int(body), place)
    trial = MarkerTrial(model.names.markers, times, positions, RATE, "made up")
    path = folder / "bend.trc"
    path.write_text(trc_text(trial, path.name, str(path)), encoding="utf-8")
    return path


def write_plates(folder: Path, share: float = 0.5) -> Path:
    """Two plates, the first under the right foot; share : of the weight that it bears."""
    columns = ["time"]
    for plate in ("ground_force", "1_ground_force"):
        columns += [f"{plate}_{what}{axis}" for what in ("v", "p") for axis in "xyz"]
    columns += [f"{plate}_{axis}" for plate in ("ground_torque", "1_ground_torque") for axis in "xyz"]
    weight = 65.0 * 9.81
    lines = [line.format(5 * N_FRAME) for line in HEADER]
    lines[3] = f"nColumns={len(columns)}"
    lines.append("\t".join(columns))
    for k in range(5 * N_FRAME):
        row = [k / (5.0 * RATE)]
        for part, z in ((share, 0.1), (1.0 - share, -0.1)):
            row += [5.0, part * weight, 2.0, 0.05, 0.0, z]
        lines.append("\t".join(f"{x:.9g}" for x in [*row, *6 * [0.0]]))
    path = folder / "bend_grf.mot"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def load(folder: Path, *args: object, **options: object) -> ModelSpec:
    """The model, from a file of this folder."""
    return load_model(str(write_model(folder, *args, **options)))
