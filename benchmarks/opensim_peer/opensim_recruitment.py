"""Recruitment of a walk beside OpenSim's static optimisation: same motion, forces, strengths, reserves.

Strengths are maximum isometric forces, and every coordinate with muscles has a reserve of 100 N m. Speeds and
accelerations are those of the quintic splines that OpenSim lays through the coordinates. OpenSim's muscles
cannot be less active than 0.01, so they are replaced by actuators along the same paths. Ours counts moment
arms, strengths and the optimum; OpenSim's the whole frame of its tool, which has inverse dynamics besides.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.opensim_peer.opensim_dynamics import Moved, our_loads, pushing
from kernels.recruitment.problem import OPTIMAL
from rtsim.bench.figures import BenchFigure, say
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.errors import RtsimError
from rtsim.methods.muscles.recruitment import MuscleRecruitment
from rtsim.models.model import build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

POWERS = {2: 1e-6, 3: 1e-9}
"""The exponents, and where OpenSim's optimiser stops for its activations to be known to 1e-3."""
FROM, TO = 0.6, 1.0
"""Part of the walk [s]."""
RESERVE, RESIDUAL = 100.0, 1000.0
"""Strength of the actuators of coordinates with muscles, and of the others [N m, N]."""
AT_LEAST, ALIKE = 100.0, 1e-3


class Shared(NamedTuple):
    """Activations (n, n_muscle), and the duration of a frame [us]."""

    activations: Array
    us: float


def recruitment_figures(opensim: Any, spec: ModelSpec, path: Path, motion: Moved) -> list[BenchFigure]:
    """Ratio of durations, and the largest difference of an activation, for squares and cubes."""
    found = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        coordinates = written(motion, folder)
        motion = splined(opensim, coordinates, motion)
        for power, converged in POWERS.items():
            say(f"opensim: static optimisation, power {power}")
            mine, muscles, rows = our_share(spec, motion, power)
            theirs = their_share(opensim, path, motion, coordinates, power, converged, muscles, rows)
            gap = float(np.abs(mine.activations - theirs.activations).max())
            found += [
                BenchFigure(f"recruitment_us.power_{power}", mine.us, "us"),
                BenchFigure(f"opensim_recruitment_us.power_{power}", theirs.us, "us"),
                BenchFigure(f"recruitment.largest_difference.power_{power}", gap, "1", ALIKE, "lower"),
                BenchFigure(f"ratio.recruitment.power_{power}", theirs.us / mine.us, "1", AT_LEAST, "higher"),
            ]
    return found


def inside(motion: Moved) -> NDArray[np.intp]:
    """Indices of the frames that are solved."""
    return np.flatnonzero((motion.times > FROM - 1e-6) & (motion.times < TO + 1e-6))


def written(motion: Moved, folder: Path) -> Path:
    """The coordinates as a file that OpenSim's tool reads."""
    path = folder / "coordinates.sto"
    head = f"coordinates\nversion=1\nnRows={len(motion.times)}\nnColumns={len(motion.names) + 1}\n"
    lines = [f"{head}inDegrees=no\nendheader", "\t".join(("time", *motion.names))]
    rows = np.column_stack([motion.times, motion.q])
    path.write_text("\n".join([*lines, *("\t".join(f"{x:.15g}" for x in row) for row in rows)]) + "\n")
    return path


def splined(opensim: Any, coordinates: Path, motion: Moved) -> Moved:
    """The motion with the speeds and accelerations that OpenSim's tool takes."""
    splines = opensim.GCVSplineSet(5, opensim.Storage(str(coordinates)))
    v, v_dot = (
        np.array(
            [[splines.evaluate(c, k, t) for c in range(len(motion.names))] for t in motion.times.tolist()]
        )
        for k in (1, 2)
    )
    return motion._replace(v=v, v_dot=v_dot)


def our_share(spec: ModelSpec, motion: Moved, power: int) -> tuple[Shared, tuple[str, ...], tuple[str, ...]]:
    """Activations by the method of a run; with the names of muscles and of the coordinates that have some."""
    model = build(spec)
    tau = our_loads(spec, motion).tau
    plain = RecruitmentSpec(power=power, strength="isometric")
    rows = MuscleRecruitment(model, roles_of(spec), plain).rows
    asked = RecruitmentSpec(power=power, strength="isometric", reserves=dict.fromkeys(rows, RESERVE))
    sharing = MuscleRecruitment(model, roles_of(spec), asked)
    q, v, load = model.q_neutral.copy(), np.zeros(model.n_v), np.zeros(model.n_v)
    at, dof = model.coordinates.q, model.coordinates.dof
    found: list[Array] = []
    us: list[float] = []
    for lap in range(4):
        found = []
        for k in inside(motion):
            q[at], v[dof], load[dof] = motion.q[k], motion.v[k], tau[k]
            start = perf_counter_ns()
            status = sharing.share(q, v, load)
            if lap:
                us.append(1e-3 * (perf_counter_ns() - start))
            if status != OPTIMAL:
                raise RtsimError(f"bench opensim: no activations at {motion.times[k]:.3f} s")
            found.append(sharing.activations.copy())
    return Shared(np.array(found), float(np.median(us))), sharing.muscles, rows


def their_share(
    opensim: Any,
    path: Path,
    motion: Moved,
    coordinates: Path,
    power: int,
    converged: float,
    muscles: tuple[str, ...],
    rows: tuple[str, ...],
) -> Shared:
    """Activations by OpenSim's tool; the duration is that of all frames less that of one, by their number."""
    folder, o = coordinates.parent, opensim
    model = o.Model(str(path))
    o.ModelFactory.replaceMusclesWithPathActuators(model)
    forces = model.updForceSet()
    for k in range(forces.getSize()):
        actuator = o.PathActuator.safeDownCast(forces.get(k))
        if actuator is not None:
            actuator.setMinControl(0.0)
            actuator.setMaxControl(1.0)
    for name in motion.names:
        actuator = o.CoordinateActuator(name)
        actuator.setName(f"reserve_{name}")
        actuator.setOptimalForce(RESERVE if name in rows else RESIDUAL)
        actuator.setMinControl(-np.inf)
        actuator.setMaxControl(np.inf)
        model.addForce(actuator)
    for body, wrench in motion.wrenches.items():
        model.addForce(pushing(o, model, body, motion.times, wrench))
    model.finalizeConnections()
    model.printToXML(str(folder / "model.osim"))
    frames = inside(motion)
    first, last = float(motion.times[frames[0]]), float(motion.times[frames[-1]])
    one = duration_of(o, folder, power, converged, (first, first + 1e-4))
    all_of_them = duration_of(o, folder, power, converged, (first, last))
    table = o.TimeSeriesTable(str(folder / "share_StaticOptimization_activation.sto"))
    times = np.array(table.getIndependentColumn())
    nearest = [int(np.argmin(np.abs(times - motion.times[k]))) for k in frames]
    activations = np.array([table.getDependentColumn(name).to_numpy() for name in muscles]).T[nearest]
    return Shared(activations, (all_of_them - one) / (len(frames) - 1))


def duration_of(opensim: Any, folder: Path, power: int, converged: float, span: tuple[float, float]) -> float:
    """Duration of OpenSim's tool on a span of the walk [us]."""
    optimisation = opensim.StaticOptimization()
    optimisation.setUseModelForceSet(True)
    optimisation.setUseMusclePhysiology(False)
    optimisation.setActivationExponent(power)
    optimisation.setConvergenceCriterion(converged)
    optimisation.setMaxIterations(1000)
    optimisation.setStartTime(span[0])
    optimisation.setEndTime(span[1])
    tool = opensim.AnalyzeTool()
    tool.setInitialTime(span[0])
    tool.setFinalTime(span[1])
    tool.setName("share")
    tool.setModelFilename(str(folder / "model.osim"))
    tool.setCoordinatesFileName(str(folder / "coordinates.sto"))
    tool.setLowpassCutoffFrequency(-1)
    tool.setResultsDir(str(folder))
    tool.updAnalysisSet().cloneAndAppend(optimisation)
    tool.printToXML(str(folder / "setup.xml"))
    tool = opensim.AnalyzeTool(str(folder / "setup.xml"))
    start = perf_counter_ns()
    if not tool.run():
        raise RtsimError("bench opensim: OpenSim's static optimisation failed")
    return 1e-3 * (perf_counter_ns() - start)
