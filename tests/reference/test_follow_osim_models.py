"""Published OpenSim models follow made-up markers of their own through a random motion."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.compiler.jit import allow_compilation
from rtsim.bench.mechanics.moment_arms import random_poses
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import MarkerCheck
from rtsim.files.osim.model import read_osim
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.model import build
from rtsim.models.roles import roles_of

Array = NDArray[np.float64]

MODELS = (
    "arm26", "bouncing_block", "gait10dof18musc_subject01", "gait10dof18musc_metabolics_spring",
    "gait2392_millard2012muscle", "leg6dof9musc", "Tug_of_War",
)  # fmt: skip
N_FRAME = 64


def marked(spec: ModelSpec) -> ModelSpec:
    """The model with three markers on every body instead of its own, off its axes."""
    rng = np.random.default_rng(3)
    markers = tuple(
        Marker(
            name=f"{body.name}_{k}",
            segment=body.name,
            offset_mm=tuple(rng.uniform(-150.0, 150.0, 3).tolist()),
        )
        for body in spec.bodies
        for k in range(3)
    )
    return msgspec.structs.replace(spec, markers=markers)


def placed(spec: ModelSpec, arms: MomentArms, q: Array) -> Array:
    """(n_marker, 3) m - markers in ground."""
    places = arms.body_places(q)
    return np.array([places[m.segment][1] + places[m.segment][0] @ (1e-3 * np.array(m.offset_mm))
                     for m in spec.markers])  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_random_motion_is_recovered_to_rounding(shared: Path, name: str) -> None:
    """Protects any model of the joint kinds there are: chains, couplers, locked and clamped coordinates."""
    allow_compilation()
    spec = marked(read_osim(shared / "data" / "osim_models" / f"{name}.osim")[0])
    arms = MomentArms(build(spec), roles_of(spec))
    method = next(iter(spec.methods))
    estimator = MultibodyEstimator(spec, None, method, check=MarkerCheck(downweight=False))
    for k, q in enumerate(random_poses(arms, N_FRAME)):
        solution = estimator.estimate(np.ascontiguousarray(placed(spec, arms, q)), 0.01 if k else 0.0)
        assert solution.converged
        assert estimator.outputs.rms[0] < 1e-9
        np.testing.assert_allclose(estimator.q, q, atol=1e-8)
