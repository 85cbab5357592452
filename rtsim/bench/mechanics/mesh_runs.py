"""Simulations with mesh contact, as a part of the mesh benchmark: a ball, whose mesh is compared with an
analytic sphere, and knees made of balls or of cartilage.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time_ns
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.contact.elements import NORMAL
from kernels.rosenbrock.trace import Trace
from rtsim.bench.figures import BenchFigure, say
from rtsim.config.models.model_schema import ModelSpec
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator

Array = NDArray[np.float64]

PEAK_ERROR, FACTOR, FACTOR_CARTILAGE = 0.02, 5.0, 0.5
ACROSS = (90.0, 90.0, 0.0)
"""Euler angles that rotate a knee's surfaces (X forwards, Y up, Z to the right) into the model's axes."""
HEIGHT = 1
"""Index of the vertical coordinate of mesh_ball's centre."""
TIBIA_MM = 228.0
"""Height of the tibia's surface above its centre of mass at which some 900 vertices are in contact [mm]."""


class MeshRun(NamedTuple):
    """Results of a whole simulation with mesh contact: one row of the trace for every step, and the processor
    time [s].
    """

    trace: Trace
    n_row: int
    seconds: float

    @property
    def normal(self) -> Array:
        """Return the normal force of each contact at every time step, (n_row, n_contact) [N]."""
        forces: Array = self.trace.contact[: self.n_row, :, NORMAL]
        return forces

    @property
    def error(self) -> float:
        """Return the largest embedded error estimate of a step, relative to the speed [1]."""
        return float(np.max(self.trace.error[: self.n_row]))


def ball_figures() -> list[BenchFigure]:
    """Compare the simulated bounce of the shipped model mesh_ball with that of an analytic sphere on a plane,
    and with the same at half the step length; return the benchmark results.
    """
    say("mesh: mesh_ball")
    spec = load_model("mesh_ball")
    contact = load_model("impact").contacts[0]  # a sphere on a plane
    radius, (ball, floor), (sphere, plane) = (
        spec.contacts[0].a.ball_radius_mm,
        spec.contacts[0].keys,
        contact.keys,
    )
    surfaces: dict[str, Any] = {
        ball: None,
        floor: None,
        sphere: type(contact.a)(segment="ball", radius_mm=radius),
        plane: type(contact.b)(segment="ground", normal=(0.0, 1.0, 0.0)),
    }
    smooth = msgspec.structs.replace(spec.contacts[0], **surfaces)
    mesh, exact = run(spec), run(msgspec.structs.replace(spec, contacts=(smooth,)))
    halved = run(stepped(spec, 0.5 * spec.simulation.step_ms))
    peak = float(mesh.normal.max())
    # of the flight before and after: speeds of the centre, whose first contact ends within the run
    growth, halved_growth = energy_growth(spec, mesh), energy_growth(spec, halved)
    return [
        BenchFigure("mesh_ball.peak_N", peak, "N"),
        BenchFigure(
            "mesh_ball.peak_error", abs(peak / float(exact.normal.max()) - 1.0), "1", PEAK_ERROR, "lower"
        ),
        BenchFigure("mesh_ball.energy_growth", growth, "1", mesh.error, "lower"),
        BenchFigure("mesh_ball.energy_growth.halved_step", halved_growth, "1", halved.error, "lower"),
        BenchFigure("mesh_ball.step_error", mesh.error, "1"),
        BenchFigure("mesh_ball.halved_step", abs(float(halved.normal.max()) / peak - 1.0), "1"),
    ]


def knee_figures(folder: Path, tibia: str, femur: str) -> list[BenchFigure]:
    """Return how many times faster than real time the shipped model mesh_knee is simulated, and a knee with
    real surfaces if their files exist.

    tibia, femur : names of these files in the folder
    """
    say("mesh: mesh_knee")
    spec = load_model("mesh_knee")
    found = [run(spec) for _ in range(3)]
    smooth = run(load_model("knee"))
    peak = float(found[0].normal.max()) / float(smooth.normal.max()) - 1.0
    figures = [
        BenchFigure("real_time_factor.mesh_knee", factor(spec, found), "1", FACTOR, "higher"),
        BenchFigure("mesh_knee.peak_error", abs(peak), "1"),
        BenchFigure(
            "mesh_knee.flexion_error",
            float(np.degrees(np.abs(found[0].trace.q[:270, 0] - smooth.trace.q[:270, 0]).max())),
            "deg",
        ),
    ]
    if all((folder / name).is_file() for name in (tibia, femur)):
        say("mesh: simulating mesh_knee with cartilage")
        real = with_cartilage(spec, folder / tibia, folder / femur)
        found = [run(real) for _ in range(2)]
        figures += [
            BenchFigure(
                "real_time_factor.mesh_knee_cartilage", factor(real, found), "1", FACTOR_CARTILAGE, "higher"
            ),
            BenchFigure("mesh_knee_cartilage.peak_N", float(found[0].normal.max()), "N"),
        ]
    return figures


def with_cartilage(spec: ModelSpec, tibia: Path, femur: Path) -> ModelSpec:
    """Return the model of a knee with other contact surfaces: the bone of a femur enlarged by 2 mm, and the
    cartilage of a tibia. The ligaments stay as they are.
    """
    shared: dict[str, Any] = {"turned_deg": ACROSS, "unit": "m"}
    contact = spec.contacts[0]
    above, below = contact.keys
    surfaces: dict[str, Any] = {
        above: type(contact.a)(
            segment="femur",
            offset_mm=(0.0, -15.0, 12.0),
            file=str(femur),
            grown_mm=2.0,
            by_vertices=False,
            **shared,
        ),
        below: type(contact.b)(
            segment="tibia", offset_mm=(0.0, -9.0, TIBIA_MM), file=str(tibia), deepest_mm=6.0, **shared
        ),
    }
    one = msgspec.structs.replace(contact, **surfaces)
    return msgspec.structs.replace(spec, contacts=(one,))


def stepped(spec: ModelSpec, step_ms: float) -> ModelSpec:
    """Return the model with another step length of its simulation [ms]."""
    settings = msgspec.structs.replace(spec.simulation, step_ms=step_ms)
    return msgspec.structs.replace(spec, simulation=settings)


def run(spec: ModelSpec) -> MeshRun:
    """Simulate a model with its default settings; return the trace with a row for every step, and the
    processor time.
    """
    simulator = Simulator(build(spec), spec.simulation)
    n_step = round(spec.simulation.duration_s / simulator.options.step)
    trace = simulator.trace(n_step + 1)
    start = process_time_ns()
    simulator.run(n_step, 1, trace, last=True)
    return MeshRun(trace, n_step + 1, 1e-9 * (process_time_ns() - start))


def factor(spec: ModelSpec, found: list[MeshRun]) -> float:
    """Return how many times faster than real time a simulation is, by the fastest of the repeated runs; spec
    : the model; found : these runs
    """
    return spec.simulation.duration_s / min(one.seconds for one in found)


def energy_growth(spec: ModelSpec, found: MeshRun) -> float:
    """Return the ball's energy after the first contact divided by that before it, minus 1, which shows the
    error of the integration. The energy is kinetic plus gravitational, the latter 0 at touch-down; spec :
    model of the ball; found : its simulation
    """
    touching = np.flatnonzero(found.normal[:, 0] > 0.0)
    last = touching[np.flatnonzero(np.diff([*touching, touching[-1] + 2]) > 1)[0]]
    body = spec.bodies[0]
    mass, inertia = body.mass_kg, body.inertia_kg_m2[0]

    def energy(k: int) -> float:
        v, q = found.trace.v[k], found.trace.q[k]
        kinetic = 0.5 * mass * float(v[:3] @ v[:3]) + 0.5 * inertia * float(v[3:] @ v[3:])
        return kinetic + 9.81 * mass * (float(q[HEIGHT]) - at_touch_down)

    at_touch_down = float(found.trace.q[touching[0], HEIGHT])
    return energy(int(last) + 1) / energy(int(touching[0]) - 1) - 1.0
