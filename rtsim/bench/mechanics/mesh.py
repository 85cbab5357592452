"""Benchmark of mesh contact: spheres beside OpenSim's elastic foundation, the cartilage of a knee, and errors
of the force.

"Cold" times a call without stored results of earlier calls, "warm" successive poses of a relative motion of
60 deg/s and 10 mm/s at 100 Hz. The force of rtsim is the mean of those of the springs at the vertices of both
surfaces, as OpenSim uses the springs of both, and includes the contact patch; the stiffness is timed
separately. All are processor times.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.compiler.jit import bind
from kernels.mesh.contact import mesh_contact, mesh_stiffness
from kernels.mesh.meshes import (
    GRADIENT,
    N_TOUCHING,
    OF_BOTH,
    OWN_AREA,
    VOLUME,
    new_mesh_contacts,
    new_mesh_work,
)
from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.mechanics.mesh_runs import ball_figures, knee_figures
from rtsim.bench.mechanics.opensim_mesh import foundation
from rtsim.errors import RtsimError
from rtsim.files.surfaces.surfaces import TriangleSurface, read_surface
from rtsim.models.packing.meshes import finer, pack_meshes
from rtsim.models.shapes import ball, grown, plate, refined, sheet

Array = NDArray[np.float64]

FOLDER = Path("../shared/data/knee_meshes")
TIBIA, FEMUR = "lenhart2015-R-tibia-cartilage.stl", "lenhart2015-R-femur-subchondral-bone.stl"
RADIUS, DEPTH, MODULUS = 0.03, 0.003, 1e8
LINES = (24, 48, 72)
"""Numbers of grid lines of the timed spheres, which have 1 104, 4 512 and 10 224 triangles."""
FINER = (24, 48, 96)
"""Numbers of grid lines of the spheres whose error is measured."""
COLD, WARM = 5.0, 10.0
"""Lowest ratios of OpenSim's time to rtsim's, cold and warm."""
CARTILAGE_US, ERROR = 500.0, 0.02
TURN, SHIFT = np.radians(0.6), 1e-4
"""Rotation and displacement from one frame to the next [rad, m]."""
N_CALL, N_POSE = 300, 24
OFFSET, DEPTH_MAX, LONGEST = 2e-3, 6e-3, 1.1e-3
"""Dimensions of the cartilage of a knee: thickness added to the femur's bone, greatest depth of the contact,
and longest edge of the femur's refined surface [m]."""
N_PRESSED = 900
SHALLOW = 1.5e-3


class MeshPair:
    """Two triangle surfaces in contact: surface B at a pose in the axes of surface A, with the working space
    of their contact.
    """

    def __init__(self, a: TriangleSurface, b: TriangleSurface, passes: int, depth_max: float = np.inf):
        self.meshes = pack_meshes([a, b])
        areas, ways = (OWN_AREA, OWN_AREA), (GRADIENT, GRADIENT)
        self.contacts = new_mesh_contacts(
            self.meshes, [(0, 1)], [passes], [areas], [ways], [0.0], [depth_max]
        )
        self.work = new_mesh_work(self.contacts)
        self.R, self.p = np.eye(3), np.zeros(3)
        self._presses = self.meshes, self.contacts, 0, MODULUS, self.R, self.p, self.work
        self._bends = self._presses[1:]
        self._press, self._bend = bind(mesh_contact, self._presses), bind(mesh_stiffness, self._bends)

    def place(self, R: Array, p: Array) -> None:
        """Set the pose of surface B in the axes of surface A for the next contact force; R : (3, 3) -
        rotation; p : (3,) - position [m]
        """
        self.R[:], self.p[:] = R, p

    def press(self) -> Array:
        """Compute the contact force at the present pose; return the wrench on surface A, (6,): moment [N m]
        and force [N].
        """
        self._press(*self._presses)
        return self.work.wrench[0]

    def bend(self) -> None:
        """Compute the contact stiffness, the derivatives of the contact force, at the pose of the last
        contact force.
        """
        self._bend(*self._bends)

    def forget(self) -> None:
        """Delete what the last contact force stored for the next one, so that the next call takes as long as
        a first call.
        """
        self.work.motion[:] = -1.0


class CallTimes(NamedTuple):
    """Median durations of calls that compute the contact force of two meshes, without and with stored results
    of earlier calls (cold, warm), and its stiffness [us].
    """

    cold: float
    warm: float
    stiffness: float


def run(folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of contact between triangle meshes: times for spheres and for cartilage,
    errors of the force, and simulations of a ball and of knees.

    folder : folder with the surfaces of a knee, None = the usual one; where they are missing, generated
        surfaces take their place
    """
    gc.collect()
    gc.disable()
    try:
        folder = folder or FOLDER
        return [
            *sphere_figures(),
            *cartilage_figures(folder),
            *error_figures(),
            *ball_figures(),
            *knee_figures(folder, TIBIA, FEMUR),
        ]
    finally:
        gc.enable()


def sphere_figures() -> list[BenchFigure]:
    """Return the times of the contact force of two meshed spheres of 30 mm radius, pressed 3 mm into each
    other, with three sizes of triangles, and the times of OpenSim if it is installed.
    """
    figures: list[BenchFigure] = []
    for n in LINES:
        surface = ball(RADIUS, n, n)
        name = f"spheres_{len(surface.triangles)}"
        say(f"mesh: {name}")
        pair, start = MeshPair(surface, surface, OF_BOTH), np.array([2.0 * RADIUS - DEPTH, 0.0, 0.0])
        found = timed(pair, np.eye(3), start)
        figures += time_figures(name, found)
        theirs = foundation(surface, 2.0 * RADIUS - DEPTH, MODULUS)
        if theirs is not None:
            figures += [
                BenchFigure(f"opensim_us.{name}", theirs.us, "us"),
                BenchFigure(f"ratio.{name}.cold", theirs.us / found.cold, "1", COLD, "higher"),
                BenchFigure(f"ratio.{name}.warm", theirs.us / found.warm, "1", WARM, "higher"),
            ]
    return figures


def cartilage_figures(folder: Path) -> list[BenchFigure]:
    """Return the time of the contact force between a tibia's cartilage and a femur's bone enlarged by 2 mm,
    with some 900 vertices in contact, and its difference from the force of meshes four times as fine.
    """
    say("mesh: cartilage")
    there = all((folder / name).is_file() for name in (TIBIA, FEMUR))
    if there:
        tibia, femur = read_surface(folder / TIBIA, "m"), read_surface(folder / FEMUR, "m")
        femur = refined(grown(femur, OFFSET), LONGEST)
    else:
        tibia, femur = generated_knee()
    pair = MeshPair(tibia, femur, finer(tibia, femur), DEPTH_MAX)
    start = pressed_by(pair, N_PRESSED)
    found = timed(pair, np.eye(3), start)
    pair.place(np.eye(3), start)
    force = float(np.linalg.norm(pair.press()[3:]))
    finest = [halved(surface) for surface in (tibia, femur)]
    exact = MeshPair(finest[0], finest[1], finer(tibia, femur), DEPTH_MAX)
    exact.place(np.eye(3), start)
    error = abs(force / float(np.linalg.norm(exact.press()[3:])) - 1.0)
    return [
        BenchFigure("us.cartilage", found.warm, "us", CARTILAGE_US, "lower"),
        BenchFigure("us.cartilage.cold", found.cold, "us"),
        BenchFigure("us.cartilage.stiffness", found.stiffness, "us"),
        BenchFigure("cartilage.real", float(there), "1"),
        BenchFigure("cartilage.triangles", float(len(tibia.triangles) + len(femur.triangles)), "1"),
        BenchFigure("cartilage.touching", float(pair.work.patch[0, N_TOUCHING]), "1"),
        BenchFigure("error.cartilage", error, "1", ERROR, "lower"),
    ]


def error_figures() -> list[BenchFigure]:
    """Return the error of the contact force of a sphere pressed 1.5 mm into a plate, relative to the modulus
    times the volume of the cap, over many poses.
    """
    say("mesh: errors")
    volume = np.pi * SHALLOW**2 * (RADIUS - SHALLOW / 3.0)
    figures = []
    for n in FINER:
        surface, rng = ball(RADIUS, n, n), np.random.default_rng(n)
        pair, errors = MeshPair(plate(0.04, 0.04, n // 2), surface, OF_BOTH), []
        for _ in range(N_POSE):
            turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
            x, y = rng.uniform(-1e-3, 1e-3, 2)
            pair.place(turn * np.linalg.det(turn), np.array([x, y, RADIUS - SHALLOW]))
            errors.append(-pair.press()[5] / (MODULUS * volume) - 1.0)
        last = n == FINER[-1]
        worst = float(np.sqrt(np.mean(np.square(errors))))
        name = f"error.sphere_on_plate_{len(surface.triangles)}"
        figures.append(BenchFigure(name, worst, "1", ERROR if last else None, "lower" if last else ""))
    return figures


def time_figures(name: str, found: CallTimes) -> Iterator[BenchFigure]:
    """Return the benchmark results of the measured times for one pair of surfaces."""
    for what, us in found._asdict().items():
        yield BenchFigure(f"us.{name}.{what}", us, "us")


def timed(pair: MeshPair, R: Array, p: Array) -> CallTimes:
    """Return the median times of contact calls at poses of surface B near rotation R : (3, 3) and position p
    : (3,) [m] in the axes of surface A.
    """
    cold, warm, stiffness = [], [], []
    for k in range(N_CALL):
        pair.place(R, p + 1e-7 * (k % 7))
        pair.forget()
        cold.append(once(pair.press))
    for k in range(N_CALL):
        angle = 2.0 * TURN * np.sin(k / 2.0)
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        way = 3.0 * SHIFT * np.array([0.0, np.cos(k / 3.0), np.sin(k / 3.0)])
        pair.place(turn @ R, turn @ p + way)
        warm.append(once(pair.press))
        stiffness.append(once(pair.bend))
    return CallTimes(*(float(np.median(us)) for us in (cold, warm, stiffness)))


def once(call: Callable[[], object]) -> float:
    """Return the duration of one call [us]."""
    start = process_time_ns()
    call()
    return 1e-3 * (process_time_ns() - start)


def pressed_by(pair: MeshPair, n: int) -> Array:
    """Return the position of surface B in the axes of surface A, (0, y, 0) [m], at which n vertices are in
    contact; B is not rotated.
    """
    low, high = -4e-3, 8e-3
    for _ in range(40):
        middle = 0.5 * (low + high)
        pair.place(np.eye(3), np.array([0.0, middle, 0.0]))
        pair.press()
        low, high = (middle, high) if pair.work.patch[0, N_TOUCHING] > n else (low, middle)
    if not pair.work.patch[0, VOLUME] > 0.0:
        raise RtsimError("bench mesh: the surfaces of the knee do not touch where they should")
    return np.array([0.0, low, 0.0])


def halved(surface: TriangleSurface) -> TriangleSurface:
    """Return the surface with every triangle divided into four by halving its edges."""
    return refined(surface, 0.0)


def generated_knee() -> tuple[TriangleSurface, TriangleSurface]:
    """Return a generated dished tibial plateau of 8 712 triangles and a condyle of 29 920, both facing
    upwards along the second axis.
    """

    def dish(x: Array, z: Array) -> Array:
        return np.column_stack((x, -0.02 + 6.0 * x**2 + 4.0 * z**2, z))

    plateau = sheet(dish, np.linspace(-0.02, 0.02, 67), np.linspace(0.025, -0.025, 67))
    vertices, triangles = ball(1.0, 86, 176)
    return plateau, TriangleSurface(vertices * [0.032, 0.028, 0.034] + [0.0, 0.01, 0.0], triangles)
