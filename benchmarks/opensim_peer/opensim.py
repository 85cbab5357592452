"""A whole-body model compared with OpenSim: inverse kinematics, inverse dynamics and moment arms in one run.

Both are called from Python, once per frame. Inverse kinematics are those of a walk by the marker weights of
its setup, without coordinate tasks; OpenSim's solver, at an accuracy of 1e-5, follows from frame to frame as
ours does. Moment arms are, of OpenSim, all that are not zero, one call each; ours are all, with all lengths.
Besides, generalized forces and joint reactions of the whole walk are compared with those of OpenSim, and the
scaling of the person with its scale tool, the recruitment of muscles with its static optimisation, and arms
and a motion file of a leg with a kneecap.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.opensim_peer.opensim_dynamics import Moved, largest_relative, moved, our_loads, their_loads
from benchmarks.opensim_peer.opensim_paths import path_figures
from benchmarks.opensim_peer.opensim_recruitment import recruitment_figures
from benchmarks.opensim_peer.opensim_scaling import FILES, scaling_figures
from kernels.compiler.jit import bind
from kernels.dynamics.inverse import inverse_dynamics
from kernels.dynamics.system import new_dynamics_work
from rtsim.bench.figures import BenchFigure, say
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.errors import ConfigError
from rtsim.files.markers.trc import read_trc
from rtsim.files.osim.setup_ik import read_ik_setup
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.following import following_of
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.stages.poses.kinematic_results import weighted_rms

Array = NDArray[np.float64]

FOLDER = Path("../shared/data/gait_opensim/gait2354")
MODEL, SETUP, TRIAL = "subject01_simbody.osim", "subject01_Setup_IK.xml", "subject01_walk1.trc"
PLATES = "subject01_walk1_grf.mot"
LEGS = "../../osim_models"
START, STOP = 0.4, 1.6  # s
N_LAP, N_POSE = 3, 12
SPEED = 0.1
"""Speed of every coordinate in inverse dynamics [rad/s, m/s], and its acceleration in the same numbers
[rad/s^2, m/s^2]."""
LIMITS = {"ik": 20.0, "id": 10.0, "moment_arms": 100.0}
RESIDUAL_MM = 10.7117
LARGEST = 1e-6
"""Difference from OpenSim in parts of the peak of a generalized force, or of a component of a reaction."""


class PeerTimes(NamedTuple):
    """Durations of single calls [us], and mean weighted RMS of inverse kinematics [mm]."""

    ik: list[float]
    id: list[float]
    moment_arms: list[float]
    rms_mm: float


def run(folder: Path = FOLDER) -> list[BenchFigure]:
    """Figures of the walk in a folder, and of OpenSim beside it where that is installed."""
    missing = [name for name in (MODEL, SETUP, TRIAL, PLATES, *FILES) if not (folder / name).is_file()]
    if missing:
        raise ConfigError(
            f"the file {missing[0]} is missing in {folder}", where="--data",
            remedy="give the folder with the published models, inverse-kinematics setup files and trials "
                   "of gait2354",
        )  # fmt: skip
    peer = open_peer(folder)
    gc.collect()
    gc.disable()
    try:
        say("opensim: ours")
        ours = OwnWalk(folder)
        mine = ours.times(N_LAP)
        theirs = None
        if peer is not None:
            say("opensim: OpenSim")
            theirs = peer.times(ours.poses(), ours.names, N_LAP)
    finally:
        gc.enable()
    found = figures(mine, theirs)
    if peer is not None:
        say("opensim: scale tool")
        found += [*compared(ours, peer), *scaling_figures(peer.opensim, folder)]
        found += path_figures(peer.opensim, folder / LEGS)
        found += recruitment_figures(peer.opensim, ours.spec, folder / MODEL, ours.motion())
    return found


def compared(ours: OwnWalk, peer: Peer) -> list[BenchFigure]:
    """Largest differences of generalized forces and joint reactions over all frames of the walk."""
    motion = ours.motion()
    mine = our_loads(ours.spec, motion)
    theirs = their_loads(peer.opensim, peer.folder / MODEL, motion)
    reaction = max(largest_relative(mine.reactions[name], rows) for name, rows in theirs.reactions.items())
    return [
        BenchFigure("id.frames", float(len(motion.times)), "1"),
        BenchFigure("id.largest_relative", largest_relative(mine.tau, theirs.tau), "1", LARGEST, "lower"),
        BenchFigure("reaction.largest_relative", reaction, "1", LARGEST, "lower"),
    ]


def figures(mine: PeerTimes, theirs: PeerTimes | None) -> list[BenchFigure]:
    """Medians, ratios and residuals."""
    compared = BenchFigure("opensim_compared", float(theirs is not None), "1 = yes, 0 = not installed")
    found = [compared, BenchFigure("ik.rms_mm", mine.rms_mm, "mm", RESIDUAL_MM, "lower")]
    for what in LIMITS:
        us = getattr(mine, what)
        found += [
            BenchFigure(f"{what}_us", float(np.median(us)), "us"),
            BenchFigure(f"{what}_us.p99", float(np.percentile(us, 99.0)), "us"),
        ]
        if theirs is not None:
            peer_us = float(np.median(getattr(theirs, what)))
            found.append(BenchFigure(f"opensim_{what}_us", peer_us, "us"))
            found.append(
                BenchFigure(f"ratio.{what}", peer_us / float(np.median(us)), "1", LIMITS[what], "higher")
            )
    if theirs is not None:
        found.append(BenchFigure("opensim_ik.rms_mm", theirs.rms_mm, "mm"))
        found.append(BenchFigure("ratio.ik.rms", mine.rms_mm / theirs.rms_mm, "1", 1.0, "lower"))
    return found


class OwnWalk:
    """The walk solved by rtsim, call by call."""

    def __init__(self, folder: Path) -> None:
        self.spec = load_model(str(folder / MODEL))
        setup = read_ik_setup(folder / SETUP)
        weights = following_of(self.spec, setup, str(folder / SETUP))._replace(coordinates=())
        check = MarkerCheck(downweight=False)
        method = next(iter(self.spec.methods))
        self.estimator = MultibodyEstimator(self.spec, None, method, check=check, following=weights)
        self.model = build(self.spec)
        self.names = self.model.coordinates.names
        self.trial, self.plates = read_trc(folder / TRIAL), folder / PLATES
        self.columns = [self.trial.names.index(name) for name in weights.markers]
        trial, columns = self.trial, self.columns
        inside = (trial.times > START - 1e-3) & (trial.times < STOP + 1e-3)
        self.frames = np.ascontiguousarray(trial.positions[inside][:, columns])
        self.dt = 1.0 / trial.rate
        self.q: list[Array] = []

    def times(self, n_lap: int) -> PeerTimes:
        """Time inverse kinematics, inverse dynamics and moment arms."""
        ik: list[float] = []
        rms: list[float] = []
        for _ in range(n_lap + 1):  # the first compiles
            self.estimator.restart()
            us, rms, self.q = [], [], []
            for k, frame in enumerate(self.frames):
                start = perf_counter_ns()
                self.estimator.estimate(frame, self.dt if k else 0.0)
                us.append(1e-3 * (perf_counter_ns() - start))
                rms.append(1e3 * weighted_rms(self.estimator))
                self.q.append(self.estimator.q.copy())
            ik = [*ik, *us[1:]]
        return PeerTimes(ik[len(self.frames) - 1 :], self.dynamics(), self.arms(), float(np.mean(rms)))

    def motion(self) -> Moved:
        """All frames of the walk with the forces of its plates."""
        return moved(self.spec, self.estimator, self.trial, self.columns, self.plates)

    def poses(self) -> Array:
        """(n, n_coordinate) - coordinates of some frames."""
        return np.array(self.q)[:: max(1, len(self.q) // N_POSE), self.model.coordinates.q]

    def dynamics(self) -> list[float]:
        """Time inverse dynamics in all frames."""
        n_v, n_body = self.model.n_v, len(self.model.names.bodies)
        v, tau, wrench = np.full(n_v, SPEED), np.zeros(n_v), np.zeros((n_body, 6))
        work = new_dynamics_work(self.model.tree)
        call = bind(inverse_dynamics, (self.model.system, self.q[0], v, v, wrench, work, tau))
        return timed(lambda q: call(self.model.system, q, v, v, wrench, work, tau), self.q)

    def arms(self) -> list[float]:
        """Time all lengths and all moment arms in all frames."""
        arms = MomentArms(self.model, roles_of(self.spec))
        shape = len(self.model.names.muscles), len(self.model.names.angles)
        lengths, out = np.zeros(shape[0]), np.zeros(shape)
        return timed(lambda q: arms.measure(q, lengths, out), self.q)


def timed(call: Callable[[Array], object], poses: list[Array], n_lap: int = N_LAP) -> list[float]:
    """Duration of every call [us], after a first lap."""
    us = []
    for lap in range(n_lap + 1):
        for q in poses:
            start = perf_counter_ns()
            call(q)
            if lap:
                us.append(1e-3 * (perf_counter_ns() - start))
    return us


class Peer:
    """The same walk solved by OpenSim."""

    def __init__(self, opensim: Any, folder: Path) -> None:
        self.opensim, self.folder = opensim, folder
        opensim.Logger.setLevelString("Error")
        opensim.Logger.removeFileSink()  # which leaves an opensim.log where the bench is called
        self.weights = read_ik_setup(folder / SETUP).tasks.markers

    def times(self, poses: Array, names: tuple[str, ...], n_lap: int) -> PeerTimes:
        """Time inverse kinematics, inverse dynamics and moment arms."""
        ik: list[float] = []
        for _ in range(n_lap):
            us, rms = self.kinematics()
            ik += us
        return PeerTimes(ik, self.dynamics(poses, names), self.arms(poses, names), rms)

    def kinematics(self) -> tuple[list[float], float]:
        """Duration of every frame but the first [us], and the mean weighted RMS [mm]."""
        o, rms, us = self.opensim, [], []
        model = o.Model(str(self.folder / MODEL))
        state = model.initSystem()
        weights = o.SetMarkerWeights()
        for name, weight in self.weights.items():
            weights.cloneAndAppend(o.MarkerWeight(name, weight))
        markers = o.MarkersReference(str(self.folder / TRIAL), weights)
        solver = o.InverseKinematicsSolver(model, markers, o.SimTKArrayCoordinateReference(), float("inf"))
        solver.setAccuracy(1e-5)
        table = o.TimeSeriesTableVec3(str(self.folder / TRIAL))
        times = [t for t in table.getIndependentColumn() if START - 1e-3 < t < STOP + 1e-3]
        state.setTime(times[0])
        solver.assemble(state)
        used = [solver.getMarkerNameForIndex(i) for i in range(solver.getNumMarkersInUse())]
        total = sum(self.weights[name] for name in used)
        for k, time in enumerate(times):
            state.setTime(time)
            start = perf_counter_ns()
            solver.track(state)
            if k:
                us.append(1e-3 * (perf_counter_ns() - start))
            square = sum(self.weights[n] * solver.computeCurrentMarkerError(n) ** 2 for n in used)
            rms.append(1e3 * (square / total) ** 0.5)
        return us, float(np.mean(rms))

    def dynamics(self, poses: Array, names: tuple[str, ...]) -> list[float]:
        """Time inverse dynamics without muscles."""
        o = self.opensim
        model = o.Model(str(self.folder / MODEL))
        state = model.initSystem()
        muscles, found = model.getMuscles(), model.getCoordinateSet()
        for k in range(muscles.getSize()):
            muscles.get(k).setAppliesForce(state, False)
        solver, v_dot, us = o.InverseDynamicsSolver(model), o.Vector(state.getNU(), SPEED), []
        for lap in range(10):
            for pose in poses:
                for name, value in zip(names, pose, strict=True):
                    found.get(name).setValue(state, float(value), False)
                    found.get(name).setSpeedValue(state, SPEED)
                start = perf_counter_ns()
                solver.solve(state, v_dot)
                if lap:
                    us.append(1e-3 * (perf_counter_ns() - start))
        return us

    def arms(self, poses: Array, names: tuple[str, ...]) -> list[float]:
        """Time all moment arms that are not zero in the first pose, at every pose."""
        o = self.opensim
        model = o.Model(str(self.folder / MODEL))
        state = model.initSystem()
        muscles, found = model.getMuscles(), model.getCoordinateSet()
        coordinates = [found.get(name) for name in names]
        every = [muscles.get(k) for k in range(muscles.getSize())]
        pairs: list[tuple[Any, Any]] = []
        us = []
        for k, pose in enumerate([poses[0], *poses]):
            for coordinate, value in zip(coordinates, pose, strict=True):
                coordinate.setValue(state, float(value), False)
            model.realizePosition(state)
            if not k:
                pairs = [
                    (m, c) for m in every for c in coordinates if abs(m.computeMomentArm(state, c)) > 1e-6
                ]
                continue
            start = perf_counter_ns()
            for muscle, coordinate in pairs:
                muscle.computeMomentArm(state, coordinate)
            us.append(1e-3 * (perf_counter_ns() - start))
        return us


def open_peer(folder: Path) -> Peer | None:
    """Return the walk in OpenSim, if it is installed."""
    try:
        import opensim
    except ModuleNotFoundError:
        say(
            "OpenSim is not installed, so there is nothing to compare with; install it: pip install "
            "rtsim[peers]"
        )
        return None
    return Peer(opensim, folder)
