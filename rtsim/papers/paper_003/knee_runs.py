"""The three methods of Sancisi et al. (2017) applied to a gait cycle, with weights that change between runs.

The lengths of the knee's ligaments are constant in the method `zero`. They approach mean lengths over the
cycle in `minimised` (eq. 10 of the paper), and in `prescribed` the lengths that its eq. 1 gives at the
flexion found by `zero`; the mean lengths are the means of the latter. Every marker has weight 1 whatever its
residual.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import MarkerCheck, Solver
from rtsim.methods.kinematics.mean_lengths import experimental_lengths
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import ONE_LEG, load_model
from rtsim.papers.paper_003.cycles import MarkerCycle
from rtsim.papers.paper_003.printed_tables import LIGAMENTS, METHODS

Array = NDArray[np.float64]

N_ITERATION = 1000
"""Largest number of iterations of a frame; live runs allow fewer."""
KNEE = "knee_flexion"
"""First of the three angles of the joint whose results are used."""
RECORDED = ("angles", "displacements", "lengthening", "contacts")


class KneeRun(NamedTuple):
    """The knee in every frame of a run with one method; NaN in a frame that did not converge.

    angles : (n_frame, 3) extension, adduction, internal rotation [deg]
    displacements : (n_frame, 3) displacement of the tibia in lateral, anterior and proximal direction [mm]
    lengthening : (n_frame, 4) lengthening of ACL, PCL, MCL, LCL in % of the neutral lengths
    contacts : (n_frame, 2, 3) medial and lateral contact point in the axes of the tibia [mm]
    experimental : (n_frame, 4) lengthening by eq. 1 at this flexion [%]
    residual : (n_frame,) residual of the optimality conditions
    seconds : computing time of the whole run [s]
    """

    angles: Array
    displacements: Array
    lengthening: Array
    contacts: Array
    experimental: Array
    residual: Array
    seconds: float


class KneeSolver:
    """Solves one person's gait cycle by the paper's three methods (`zero`, `minimised`, `prescribed`),
    repeatedly with different weights.
    """

    def __init__(self, cycle: MarkerCycle, spec: ModelSpec | None = None) -> None:
        self.cycle = cycle
        self.spec = spec or load_model(ONE_LEG)
        self.frames = [np.ascontiguousarray(frame) for frame in cycle.measured]
        self._estimator = self._prepared(cycle)
        zero = self.run("zero")
        mean = 1.0 + 0.01 * np.nanmean(zero.experimental, axis=0)
        neutral = 1e3 * self._estimator.model.lengths.neutral[self._ligaments]
        lengths = dict(zip(LIGAMENTS, (neutral * mean).tolist(), strict=True))
        subject = msgspec.structs.replace(cycle.subject, ligament_mean_mm=lengths)
        self.mean_lengths_mm = lengths
        self._estimator = self._prepared(cycle._replace(subject=subject))

    def _prepared(self, cycle: MarkerCycle) -> MultibodyEstimator:
        check = MarkerCheck(downweight=False, fill_s=0.0)
        estimator = MultibodyEstimator(
            self.spec,
            cycle.subject,
            METHODS[0],
            METHODS,
            solver=Solver(max_iterations=N_ITERATION),
            check=check,
        )
        names = estimator.model.names
        self._joint = names.joint_angles[::3].index(KNEE)
        self._ligaments = np.array([names.elements.index(name) for name in LIGAMENTS])
        reported = [names.elements[e] for e in estimator.model.reported.ligaments]
        self._lengthening = np.array([reported.index(name) for name in LIGAMENTS])
        self._signs = estimator.model.joint_signs[self._joint]
        return estimator

    def run(self, method: str, weights: Mapping[str, float] | None = None) -> KneeRun:
        """Solve all frames of the cycle by a method, beginning without any previous pose.

        weights : weights of the ligaments that are soft in the method, in place of those in the paper's table
            3 [1/m^2]
        """
        estimator, usual = self._estimator, None
        estimator.switch(method)
        estimator.restart()
        if weights is not None:  # in place: compiled code holds the array
            usual = estimator.roles.weight.copy()
            for name, weight in weights.items():
                estimator.roles.weight[estimator.model.names.elements.index(name)] = weight
        try:
            return self._solved()
        finally:
            if usual is not None:
                estimator.roles.weight[:] = usual

    def _solved(self) -> KneeRun:
        n, estimator = len(self.frames), self._estimator
        out = estimator.outputs
        rows = KneeRun(
            angles=np.full((n, 3), np.nan),
            displacements=np.full((n, 3), np.nan),
            lengthening=np.full((n, 4), np.nan),
            contacts=np.full((n, 2, 3), np.nan),
            experimental=np.full((n, 4), np.nan),
            residual=np.full(n, np.nan),
            seconds=0.0,
        )
        neutral = estimator.model.lengths.neutral[self._ligaments]
        start = perf_counter()
        for k, frame in enumerate(self.frames):
            solution = estimator.estimate(frame, self.cycle.dt if k else 0.0)
            rows.residual[k] = solution.residual
            if not solution.converged:
                continue
            rows.angles[k] = np.degrees(out.angles[self._joint])
            rows.displacements[k] = 1e3 * out.displacements[self._joint]
            rows.lengthening[k] = 100.0 * out.lengthening[self._lengthening]
            rows.contacts[k] = 1e3 * out.contact_points
            rows.experimental[k] = 100.0 * (experimental_lengths(estimator)[self._ligaments] / neutral - 1.0)
        return rows._replace(seconds=perf_counter() - start)
