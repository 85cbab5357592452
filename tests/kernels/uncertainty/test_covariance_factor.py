"""Errors of a pose that moves: the solver's own answers to errors that go with the segments."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.uncertainty.covariance_factor import LASTING, NOISE
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import CHECK, FRAME, again, running_at, start_of
from tests.kernels.uncertainty.test_pose_errors import ARM
from tests.naive.markers import model_markers
from tests.naive.tree import difference, state

Array = NDArray[np.floating]

STEP, SIZE = 1e-6, 1e-3
"""By how much a marker is moved, and the noise that is stated [m]."""


def solved(running: MultibodyEstimator, q: Array, measured: Array) -> Array:
    """Return the coordinates of a frame solved from q."""
    start = start_of(running)
    for track in start:
        track[0][:] = q
    assert again(running, start, measured) is not None
    return running.q.copy()


def answers(running: MultibodyEstimator, q: Array, hidden: list[int]) -> Array:
    """Return (3 n_seen, n_v): how a pose answers to each marker's error along the axes of its body, about
    markers that are where the model has them.
    """
    skeleton = running._now.skeleton
    exact = model_markers(skeleton.tree, skeleton.markers, q)
    exact[hidden] = np.nan
    base, at = solved(running, q, exact), state(skeleton.tree, q)
    rows = []
    for m in np.flatnonzero(np.isfinite(exact[:, 0])):
        b = skeleton.markers.body[m]
        for axis in at.body[b][:3, :3].T:
            moved = exact.copy()
            moved[m] += STEP * axis
            rows.append(difference(skeleton.tree, base, solved(running, q, moved)) / STEP)
    return np.array(rows)


@pytest.mark.parametrize("method", ["zero", "ball", "free", "prescribed", "minimised"])
@pytest.mark.parametrize("hidden", [(), ("T2", "P4")])
def test_columns_are_the_solvers_own_answers_in_time(method: str, hidden: tuple[str, ...]) -> None:
    """Protects rates: products of errors at three times of a motion, each marker moved in its segment."""
    running, _ = running_at(method, hidden)
    tree, found, poses = running._now.skeleton.tree, running.deviations, []
    assert found is not None
    trial = leg.soft_tissue_trial()[FRAME - 1 : FRAME + 2].copy()
    trial[:, leg.indices(*hidden)] = np.nan
    for measured in trial:
        assert running.estimate(measured, leg.DT).converged
        poses.append(running.q.copy())
    to, fro = difference(tree, poses[1], poses[2]), difference(tree, poses[1], poses[0])
    columns = found.columns(poses[1], (to - fro) / (2.0 * leg.DT), (to + fro) / leg.DT**2, leg.DT)
    assert columns is not None
    told = np.swapaxes(columns[:, NOISE], 1, 2)
    expected = SIZE * np.array([answers(running, q, leg.indices(*hidden)) for q in poses])
    # left out is curvature: of soft elements that are stretched, and at the pose of `zero` before
    # `prescribed`, which is millimetres off these markers
    atol = {"minimised": 0.1, "prescribed": 0.35}.get(method, 1e-4)
    for k in range(3):
        for other in range(3):
            products, C = told[k].T @ told[other], expected[k].T @ expected[other]
            scale = np.sqrt(np.diagonal(expected[k].T @ expected[k]))[:, None]
            scale = scale * np.sqrt(np.diagonal(expected[other].T @ expected[other]))
            np.testing.assert_allclose(products / scale, C / scale, atol=atol)


@pytest.mark.parametrize("method", ["zero", "ball"])
@pytest.mark.parametrize("hidden", [(), ("T2", "S4"), ("foot",)])
def test_columns_add_up_to_the_covariance(method: str, hidden: tuple[str, ...]) -> None:
    """Protects skin that is shared, and dofs that are held: lasting errors and noise at a pose that fits its
    markers exactly.
    """
    stated = Uncertainty(average_s=0.0, least_noise_mm=0.3)
    running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, method, check=CHECK, uncertainty=stated)
    running.estimate(leg.soft_tissue_trial()[FRAME], 0.0)
    exact = running.outputs.markers.copy()
    exact[leg.indices(*hidden)] = np.nan
    found = running.deviations
    assert found is not None
    for k in range(3):  # each other than the one before by nothing, as a frame that is sent again stands
        found.state.pose.wait[0] = 0
        running.deviate(leg.DT, running.estimate(exact + 1e-12 * k, leg.DT))
    columns = found.columns(running.q, np.zeros(running.model.n_v), np.zeros(running.model.n_v), leg.DT)
    assert columns is not None
    np.testing.assert_array_equal(columns[0], columns[1])
    noise = found.noise_covariance
    for kind, C in ((LASTING, found.covariance - noise), (NOISE, noise)):
        L = columns[1, kind]
        np.testing.assert_allclose(L @ L.T, C, rtol=1e-4, atol=1e-5 * np.abs(C).max())


def test_followers_of_couplers_have_no_columns_of_their_own() -> None:
    """Protects models with own markers: what moves a follower moves its driver, as in the covariance."""
    spec = check_record(ARM, ModelSpec, "the test's model")
    running = MultibodyEstimator(spec, None, next(iter(spec.methods)), check=CHECK, uncertainty=Uncertainty())
    running.estimate(np.full((6, 3), np.nan), 0.0)
    measured = running.outputs.markers.copy()
    running.restart()
    for _ in range(3):
        running.deviate(0.01, running.estimate(measured, 0.01))
    found, still = running.deviations, np.zeros(3)
    assert found is not None
    columns = found.columns(running.q, still, still, 0.01)
    assert columns is not None
    L = columns[1, LASTING]
    C = found.covariance - found.noise_covariance
    np.testing.assert_allclose(L @ L.T, C, rtol=1e-6, atol=1e-9 * np.abs(C).max())
    assert (np.diagonal(C)[:2] > 0.0).all()


def test_what_rests_on_a_bound_errs_in_no_pose_of_the_motion() -> None:
    """Protects models with ranges: a filtered pose is next to the bound, and does not come free of it."""
    table = copy.deepcopy(ARM)
    del table["couplers"]
    table["bodies"][2]["coordinates"][0].update(clamped=True, range_deg=[-10.0, 120.0])
    spec = check_record(table, ModelSpec, "the test's model")
    running = MultibodyEstimator(spec, None, next(iter(spec.methods)), check=CHECK, uncertainty=Uncertainty())
    skeleton = running._now.skeleton
    measured = model_markers(skeleton.tree, skeleton.markers, np.array([0.3, 0.0, np.radians(-25.0)]))
    for _ in range(3):
        running.deviate(0.01, running.estimate(measured, 0.01))
    found = running.deviations
    assert found is not None
    assert found.coordinates[2] == 0.0
    for beside in (-1e-3, 0.0, 1e-3):
        columns = found.columns(
            running.q + np.array([0.0, 0.0, beside]), np.array([0.0, 0.0, 0.5]), np.zeros(3), 0.03
        )
        assert columns is not None
        assert not columns[:, :, 2].any()
        assert columns[:, :, 0].any(axis=-1).all()
