"""Motions for fits: a lift made up from one generator, and those of the reference files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.torque_generator.demands import Demands
from kernels.torque_generator.fit import FitOptions, fit, new_fit_work
from kernels.torque_generator.torque import FIRST_VELOCITY
from tests.kernels.torque_generator.generators import table
from tests.naive.torque_generators import BLEND, Generator, multipliers

Array = NDArray[np.float64]
SHARED = Path(__file__).resolve().parents[4] / "shared"
TARGET = np.array([1.0, 1.0, 0.0, 0.0, 1.0])
LOW = np.array([1.0, 1.0, -np.pi / 2, 0.0, 1.0])
HIGH = np.array([np.inf, np.inf, np.pi / 2, 1.0, np.inf])


class Motion(NamedTuple):
    """One generator in one motion: angles and speeds of the joint, torques about it."""

    generator: Generator
    q: Array
    qd: Array
    tau: Array
    cap: float = 1.0
    most_passive: float = 1.4
    floor: float = 0.0

    def demands(self) -> Demands:
        """What the kernels make of it."""
        m, packed = self.generator, table([self.generator])
        theta = m.factor * m.angle_sign * (self.q - m.offset)
        demand = np.maximum(m.torque_sign * self.tau, 0.0) / m.tau_o
        cap, floor = np.full(len(theta), self.cap), np.full(len(theta), self.floor)
        return Demands(
            packed.curves, FIRST_VELOCITY, packed.parameter[0], theta, m.factor * m.torque_sign * self.qd,
            demand, cap, floor, self.most_passive,
        )  # fmt: skip

    def violations(self, x: Array) -> float:
        """Largest violation of eqs 10 to 12 by the twin, in parts of tau_o."""
        m, worst = self.generator, -np.inf
        for q, qd, tau in zip(self.q, self.qd, self.tau, strict=True):
            A, V, P, damped = multipliers(m, q, qd, x)
            demand = max(m.torque_sign * tau, 0.0) / m.tau_o
            strong = x[4] * (self.cap * A * V + P * damped) - demand
            least = x[4] * (self.floor * A * V + P * damped)
            worst = max(worst, -strong, least - demand, P - self.most_passive)
        return worst

    def start(self) -> Array:
        """The default start: ranges of the motion in parts of those of the curves."""
        m, demands = self.generator, self.demands()
        width = 2.0 * m.theta_w * np.sqrt(2.0 * np.log(1000.0))
        at = (np.ptp(demands.theta) / width, abs(demands.omega).max() / m.omega_max, demands.demand.max())
        return np.array([max(at[0], 1.0), max(at[1], 1.0), 0.0, 0.0, max(at[2], 1.0)])


def fitted(motion: Motion, start: Array | None = None):
    """(x, objective, status) of a fit from a start, the default one where it is not given."""
    demands = motion.demands()
    options = FitOptions(TARGET, np.ones(5), LOW, HIGH, 0.3, 1e-10, 1e-9, 500)
    x = np.array(motion.start() if start is None else start, float)
    status, _, _ = fit(demands, options, new_fit_work(len(demands.theta)), x)
    return x, float(((x - TARGET) ** 2).sum()), status


def lift(rng: np.random.Generator) -> Motion:
    """A bend and a rise of a hip that is stronger than its generator says, stretched beyond its range."""
    t = np.linspace(0.0, 1.0, 60)
    m = Generator(150.0, 9.0, 1.0, 1.0, 1.1, 0.17, 0.8, 1.5, blend=BLEND)
    q = 0.2 + 1.6 * np.sin(np.pi * t) ** 2
    qd = -1.6 * np.pi * np.sin(2 * np.pi * t)
    tau = rng.uniform(1.2, 1.6) * 150.0 * np.exp(-(((t - 0.6) / 0.2) ** 2))
    return Motion(m, q, qd, tau)


def rows_of(path: str) -> list[dict[str, str]]:
    """The rows of a file of the reference folder."""
    with (SHARED / "reference" / path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gymnast(muscle: str) -> Generator:
    """A generator of the authors' program, by its name there, in full precision."""
    row = next(r for r in rows_of("mtg_parameters_full_precision.csv") if r.pop("muscle") == muscle)
    return Generator(*map(float, row.values()), blend=BLEND)


NAMED = {"MiddleTrunk": "Lumbar", "UpperTrunk": "Lumbar", "Head": "Hip"}
HEAD_NM = 50.0


def reference(row: dict[str, str]) -> Motion:
    """The motion of a row of mtg_fit_results_rbdl.csv; angles of the lumbar joints are not doubled there."""
    muscle = row["muscle"]
    part = next((part for part in NAMED if muscle.startswith(part)), "")
    m = gymnast(muscle.replace(part, NAMED[part]) if part else muscle)
    if part == "Head":
        m = m._replace(tau_o=HEAD_NM)
    m = m._replace(angle_sign=float(row["angle_sign"]), torque_sign=float(row["torque_sign"]))
    if row["case"].startswith("rbdl"):
        file = rows_of(f"mtg_fit_{row['case'].split('_')[1]}_input.csv")
        keys = ("joint_angle_rad", "joint_omega_rad_s", "joint_torque_Nm")
        values = [np.array([float(r[key]) for r in file]) for key in keys]
    else:
        folder, column = SHARED / "data" / "stoop_lift" / "ID_2D", int(row["joint_column"])
        values = [
            np.loadtxt(folder / f"{name}_stoop2.csv", delimiter=",")[:, column]
            for name in ("q", "qDot", "tau")
        ]
    return Motion(m, *values, cap=float(row["a_max"]), most_passive=float(row["tPE_max"]))
