"""Deviations of filtered motion: what a filter makes of errors that last and of noise."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from kernels.rates.manifold import new_rates, plain
from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.kinematics.rate_errors import LASTING, NOISE, RateDeviations, products, quaternion_slopes
from rtsim.methods.kinematics.rates import impulse_response, track
from tests.kernels import leg
from tests.naive.tree import quaternion_matrix

RATE, TIME = 100.0, 0.125
SPECS = (ButterworthSpec(), SavitzkyGolaySpec())


@pytest.mark.parametrize("spec", SPECS)
def test_products_are_those_of_the_correlation_matrix(spec: RateSpec) -> None:
    """Protects the short way by convolution from the dense matrix of all frames."""
    h = impulse_response(spec, RATE)
    t = np.arange(len(h)) / RATE
    R = np.exp(-0.5 * ((t[:, None] - t[None, :]) / TIME) ** 2)
    found = products(spec, RATE, TIME)
    np.testing.assert_allclose(found[LASTING], h.T @ R @ h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[NOISE], h.T @ h, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("spec", SPECS)
def test_filtered_errors_scatter_as_stated(spec: RateSpec) -> None:
    """Protects what the products mean: 300 courses of errors of both kinds through the filter."""
    rng, n, t = np.random.default_rng(2), 300, np.arange(60) / RATE
    R = np.exp(-0.5 * ((t[:, None] - t[None, :]) / TIME) ** 2)
    draw = np.linalg.cholesky(R + 1e-10 * np.eye(len(t)))
    for kind, rows in ((LASTING, draw @ rng.normal(size=(len(t), n))), (NOISE, rng.normal(size=(len(t), n)))):
        found = track(spec, plain(n), RATE, t, rows)
        scatter = np.array([np.std(part[-1]) for part in (found.q, found.v, found.v_dot)])
        expected = np.sqrt(np.diagonal(products(spec, RATE, TIME)[kind]))
        np.testing.assert_allclose(scatter, expected, rtol=4.0 / np.sqrt(2 * n))


def test_slow_errors_pass_and_have_the_speed_of_their_time() -> None:
    """Protects the size of the time T: slow errors keep their size, and move by it over T."""
    slow = products(ButterworthSpec(), RATE, 2.0)[LASTING]
    np.testing.assert_allclose(np.sqrt(np.diagonal(slow)), [1.0, 1.0 / 2.0, np.sqrt(3.0) / 4.0], rtol=0.02)
    np.testing.assert_allclose(slow[0, 2], -slow[1, 1], rtol=0.02)


def test_quaternions_turn_about_the_childs_axes() -> None:
    """Protects the four numbers of a rotation: their slopes turn the matrix as a small turn does."""
    q = np.array([0.5, -0.1, 0.7, 0.3])
    q /= np.linalg.norm(q)
    for k, axis in enumerate(np.eye(3)):
        step = 1e-6
        moved = quaternion_matrix(q + step * quaternion_slopes(q)[:, k])
        skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        expected = quaternion_matrix(q) @ (np.eye(3) + step * skew)
        np.testing.assert_allclose(moved, expected, atol=1e-11)


def slopes_of(of: RateDeviations, order: int, dof: int, v: np.ndarray, v_dot: np.ndarray) -> np.ndarray:
    """Return (3, n): by what an error of the coordinates, its rate and the rate of that change a speed or
    an acceleration: d' + w x d, d'' + w x d' + w' x d.
    """
    turns = {k: start for _, start in of._turns for k in range(start, start + 3)}
    slopes = np.zeros((3, len(v)))
    slopes[order, dof] = 1.0
    if dof in turns:
        start = turns[dof]
        axis = np.eye(3)[dof - start]
        carry = slopes[order - 1, start : start + 3]
        carry += np.cross(axis, v[start : start + 3])  # e . (w x d) = (e x w) . d
        if order == 2:
            slopes[0, start : start + 3] += np.cross(axis, v_dot[start : start + 3])
    return slopes


def rates_twin(of: RateDeviations, columns: np.ndarray, v: np.ndarray, v_dot: np.ndarray) -> np.ndarray:
    """Return deviations of speeds and accelerations dof by dof. With d = S e: d' = S' e + S e',
    d'' = S'' e + 2 S' e' + S e''.
    """
    before, S, after = columns
    first, second = (after - before) / (2.0 * of.apart), (after - 2.0 * S + before) / of.apart**2
    out = []
    for order in (1, 2):
        for dof in range(len(v)):
            f, total = slopes_of(of, order, dof, v, v_dot), 0.0
            for kind in (LASTING, NOISE):
                gain = of.products[kind]
                by = (  # of e, e' and e''
                    f[0] @ S[kind] + f[1] @ first[kind] + f[2] @ second[kind],
                    f[1] @ S[kind] + 2.0 * f[2] @ first[kind],
                    f[2] @ S[kind],
                )
                total += sum(gain[i, j] * by[i] @ by[j] for i in range(3) for j in range(3))
            out.append(np.sqrt(total))
    return np.array(out)


def test_every_coordinate_has_its_deviation() -> None:
    """Protects the order: coordinates and quaternions of a leg, speeds by the gain of the filter."""
    running = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, "free", check=leg.QUICK, uncertainty=Uncertainty()
    )
    trial = leg.soft_tissue_trial()
    for k in range(3):
        running.deviate(leg.DT if k else 0.0, running.estimate(trial[k], leg.DT if k else 0.0))
    found, tree = running.deviations, running.model.tree
    assert found is not None
    of = RateDeviations(tree, ButterworthSpec(), RATE, TIME)
    assert all(np.isnan(part).all() for part in (of.q, of.v, of.v_dot))
    still = new_rates(len(running.q), len(of.v))
    still.q[:] = running.q
    of.update(found, still, 0.0)
    columns = found.columns(*still, of.apart)
    assert columns is not None
    expected = rates_twin(of, columns, still.v, still.v_dot)
    np.testing.assert_allclose(np.concatenate([of.v, of.v_dot]), expected, rtol=1e-9)
    assert (of.v_dot > of.v).all()
    assert np.isfinite(of.q).all()
    gain = np.sqrt(of.products[LASTING, 0, 0])
    places = np.sqrt(np.diagonal(found.covariance))[:3]  # the pelvis, before its turn
    np.testing.assert_allclose(of.q[:3], gain * places, rtol=0.01)
    moving = still._replace(v=np.linspace(-4.0, 4.0, len(of.v)), v_dot=np.linspace(20.0, -30.0, len(of.v)))
    of.forget()
    of.update(found, moving, 0.0)
    columns = found.columns(*moving, of.apart)
    assert columns is not None
    assert np.abs(columns[2] - columns[0]).max() > 1e-2 * np.abs(columns[1]).max()
    expected = rates_twin(of, columns, moving.v, moving.v_dot)
    np.testing.assert_allclose(np.concatenate([of.v, of.v_dot]), expected, rtol=1e-9)
    assert of.known
    of.forget()
    assert np.isnan(of.v).all()
    assert not of.known


def test_rates_are_those_of_poses_nearby() -> None:
    """Protects the shank of `zero`, whose shifts turn back: a mean over the time constant, while the same
    markers take part.
    """
    running = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, "zero", check=leg.QUICK, uncertainty=Uncertainty(average_s=0.5)
    )
    trial, n_v = leg.soft_tissue_trial(), running.model.n_v
    own, together = [], RateDeviations(running.model.tree, ButterworthSpec(), RATE, TIME)
    found = running.deviations
    assert found is not None
    for k in range(3):
        running.deviate(leg.DT if k else 0.0, running.estimate(trial[8 * k], leg.DT if k else 0.0))
        found.state.pose.wait[0] = 0
        moving = new_rates(len(running.q), n_v)
        moving.q[:], moving.v[:] = running.q, np.linspace(-1.0, 1.0, n_v)
        alone = RateDeviations(running.model.tree, ButterworthSpec(), RATE, TIME)
        alone.update(found, moving, 0.1 * k)
        own.append(alone.v**2)
        together.update(found, moving, 0.1 * k)
    np.testing.assert_allclose(together.v**2, np.mean(own, axis=0), rtol=1e-9)
    together.update(found, moving, 0.9)  # longer than the mean
    np.testing.assert_allclose(together.v**2, own[-1], rtol=1e-9)
    together.update(found, moving._replace(v=np.zeros(n_v)), 1.0)
    assert np.abs(together.v**2 / own[-1] - 1.0).max() > 1e-3  # a mean of two
    found.state.held_for[-1] = 0.1  # a dof is held
    together.update(found, moving, 1.1)
    alone.update(found, moving, 1.1)
    np.testing.assert_array_equal(together.v, alone.v)
    found.state.held_for[-1] = 0.0
    together.update(copy.deepcopy(found), moving, 1.2)  # as of another method
    np.testing.assert_allclose(together.v**2, own[-1], rtol=1e-9)


def test_rates_of_numbers_err_by_their_slopes_in_time() -> None:
    """Protects muscle speeds: slopes of the numbers change with the pose as well as the errors do."""
    running = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, "zero", check=leg.QUICK, uncertainty=Uncertainty()
    )
    trial, rng = leg.soft_tissue_trial(), np.random.default_rng(3)
    for k in range(3):
        running.deviate(leg.DT if k else 0.0, running.estimate(trial[k], leg.DT if k else 0.0))
    found, n_v = running.deviations, running.model.n_v
    assert found is not None
    of = RateDeviations(running.model.tree, ButterworthSpec(), RATE, TIME)
    moving = new_rates(len(running.q), n_v)
    moving.q[:], moving.v[:] = running.q, rng.normal(size=n_v)
    of.update(found, moving, 0.0)
    base, change = rng.normal(size=(2, 4, n_v))
    columns = found.columns(*moving, of.apart)
    assert columns is not None
    rows = [(base + q[0] * change) @ S for q, S in zip(found.course.pose, columns, strict=True)]
    expected = np.zeros(4)
    for kind in (LASTING, NOISE):
        first = (rows[2][kind] - rows[0][kind]) / (2.0 * of.apart)
        gain = of.products[kind]
        expected += gain[0, 0] * (first**2).sum(axis=1) + gain[1, 1] * (rows[1][kind] ** 2).sum(axis=1)
    np.testing.assert_allclose(of.speeds_of(lambda q: base + q[0] * change), np.sqrt(expected), rtol=1e-12)
