"""Covariance of a pose and what follows from it: the twin, differences, chance, and when it is made anew."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from kernels.joints.tree import pose
from kernels.solver.optimality import FrameProblem
from kernels.uncertainty.place_errors import WeightedPoints, new_place_work, place_deviations
from kernels.uncertainty.pose_errors import EVERY
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.deviations import mean_place, places_of
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.muscles.muscle_arms import arms_at
from tests.kernels import leg
from tests.kernels.uncertainty.test_deviation import (
    CHECK,
    EXACT,
    KNEE,
    again,
    predicted,
    running_at,
    start_of,
)
from tests.naive.deviation import covariance, marker_covariance, outputs
from tests.naive.differences import first_derivative
from tests.naive.tree import state

settings = numba.config  # its names are made when Numba is imported
PLAIN = Uncertainty(average_s=0.0)


def fresh_at(
    method: str, hidden: tuple[str, ...] = (), stated: Uncertainty = EXACT
) -> tuple[MultibodyEstimator, np.ndarray]:
    """Return an estimator whose covariance is of its last frame, and that frame."""
    running, measured = running_at(method, hidden, stated)
    assert running.deviations is not None
    running.deviations.state.pose.wait[0] = 0
    running.deviate(leg.DT, running.estimate(measured, leg.DT))
    return running, measured


@pytest.mark.parametrize("method", ["zero", "minimised", "ball"])
@pytest.mark.parametrize("hidden", [(), ("T2", "P4")])
def test_covariances_are_the_twins(method: str, hidden: tuple[str, ...]) -> None:
    """Protects both covariances from the null space of the constraints: of all errors, and of noise."""
    running, measured = fresh_at(method, hidden, PLAIN)
    setup, found = running._now, running.deviations
    assert found is not None
    track, errors, skin = setup.state.track, found.state.errors, found.options.bounds.skin
    problem = FrameProblem(
        setup.skeleton.tree, setup.skeleton.markers, setup.skeleton.elements, running.roles, measured,
        running.health.weight, track.hold, track.q_hold,
    )  # fmt: skip
    n_body = len(skin.turn)
    still = (np.zeros((n_body, 3)), np.zeros(n_body), np.zeros(n_body))
    for C, variance, moves in (
        (found.covariance, errors.variance, skin),
        (found.noise_covariance, errors.noise, still),
    ):
        of_markers = marker_covariance(setup.skeleton, track.q, variance, *moves)
        expected = covariance(problem, track.q, track.multiplier, of_markers, np.zeros(len(track.hold)))
        np.testing.assert_allclose(C, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
        np.testing.assert_allclose(C, C.T, rtol=1e-9, atol=1e-20)
    assert np.trace(found.noise_covariance) < np.trace(found.covariance)


@pytest.mark.parametrize("method", leg.METHODS)
def test_numbers_have_the_same_variance_by_the_covariance(method: str) -> None:
    """Protects every method, also one whose lengths follow another: slopes and covariance give the
    deviations that the optimum gives."""
    running, _ = fresh_at(method, stated=PLAIN)
    setup, found = running._now, running.deviations
    assert found is not None
    F = first_derivative(
        lambda q: outputs(setup.skeleton, np.array([KNEE]), q), setup.skeleton.tree, running.q
    )
    other = found.state.other  # whose numbers are its own, not those of slopes
    C = found.covariance - (other.gap.T * other.part) @ other.gap
    by_covariance = np.sqrt(np.maximum(np.einsum("kd,de,ke->k", F, C, F), 0.0))
    stated = np.sqrt(np.maximum(predicted(running) ** 2 - other.part @ other.shift**2, 0.0))
    np.testing.assert_allclose(by_covariance, stated, rtol=1e-4, atol=1e-7)


def test_places_are_those_of_differences() -> None:
    """Protects points of bodies, means of several and points of ground: slopes by differences."""
    running, _ = fresh_at("free", stated=PLAIN)
    tree, rng = running._now.skeleton.tree, np.random.default_rng(4)
    parts = [(0, 0.4), (2, 0.6), (3, 1.0), (-1, 1.0)]
    body, share = np.array([b for b, _ in parts]), np.array([s for _, s in parts])
    places = WeightedPoints(np.array([0, 2, 3, 4]), body, rng.normal(size=(4, 3)), share)

    def where(q):
        at = state(tree, q)
        points = [at.point(b, x) if b >= 0 else x for b, x in zip(body, places.point, strict=True)]
        return np.concatenate([share[0] * points[0] + share[1] * points[1], points[2], points[3]])

    J = first_derivative(where, tree, running.q)
    S = rng.normal(size=(J.shape[1], J.shape[1])) * 1e-2
    setup, out = running._now, np.zeros((3, 3))
    pose(tree, running.q, setup.work.solver.pose)
    place_deviations(
        tree.last_dof, tree.dof_parent, places, setup.work.solver.pose, S @ S.T, new_place_work(len(S)), out
    )
    np.testing.assert_allclose(out.ravel(), np.sqrt(np.diagonal(J @ S @ S.T @ J.T)), rtol=1e-7, atol=1e-12)
    assert (out[:2] > 0.0).all()
    assert (out[2] == 0.0).all()


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["zero", "minimised"])
def test_places_and_muscles_are_those_of_noisy_copies(method: str) -> None:
    """Protects what is stated of origins, joint centres, the centre of mass and muscle lengths: 600 copies
    of a frame with 1 mm of noise scatter by as much."""
    running, measured = fresh_at(method)
    found, model = running.deviations, running.model
    assert found is not None
    arms = arms_at(*running.placed_by(method))
    arms.measure()
    n_body = len(model.names.bodies)
    mean = mean_place(np.full(n_body, 1.0 / n_body), np.zeros((n_body, 3)))
    of_mean, of_points = np.zeros((1, 3)), np.zeros(model.outline.points.shape)
    found.write_places(mean, of_mean)
    found.write_places(places_of(model.outline.body, model.outline.points), of_points)
    of_muscles = np.sqrt(np.einsum("md,de,me->m", arms.gradient, found.covariance, arms.gradient))
    expected = np.concatenate([of_mean.ravel(), of_points.ravel(), of_muscles])
    start, rng, n_copy, rows = start_of(running), np.random.default_rng(5), 600, []
    for _ in range(n_copy):
        assert again(running, start, measured + rng.normal(0.0, 1e-3, measured.shape)) is not None
        arms.measure()
        rows.append(
            np.concatenate([running.pose[0].mean(axis=0), running.outputs.points.ravel(), arms.lengths])
        )
    np.testing.assert_allclose(np.std(rows, axis=0), expected, rtol=4.0 / np.sqrt(2 * n_copy) + 0.02)


ARM = {
    "name": "arm",
    "source": "made up",
    "bodies": [
        {"name": "upper", "joint": "hinge", "axis": [0, 0, 1], "coordinates": [{"name": "raise"}]},
        {
            "name": "lower", "parent": "upper", "joint": "slider", "axis": [0, 1, 0],
            "in_parent": {"offset_mm": [0, -300, 0]}, "coordinates": [{"name": "reach"}],
        },
        {
            "name": "hand", "parent": "lower", "joint": "hinge", "axis": [0, 0, 1],
            "in_parent": {"offset_mm": [0, -300, 0]}, "coordinates": [{"name": "turn"}],
        },
    ],
    "couplers": [{"coordinate": "turn", "of": "raise", "linear": [0.5, 0.1]}],
    "markers": [
        {"name": name, "segment": segment, "offset_mm": place}
        for name, segment, place in (
            ("U1", "upper", [30, -100, 0]), ("U2", "upper", [-20, -250, 40]), ("L1", "lower", [30, -100, 0]),
            ("L2", "lower", [0, -280, 20]), ("H1", "hand", [10, -80, 0]), ("H2", "hand", [0, -90, 50]),
        )
    ],
}  # fmt: skip


def test_coordinates_of_a_model_with_its_own_markers_are_those_of_noisy_copies() -> None:
    """Protects coordinates, also one that follows another by a coupler: 400 copies scatter by as much."""
    stated = Uncertainty(least_noise_mm=1.0, most_noise_mm=1.0, other_mm=1e-6, average_s=0.0)
    spec = check_record(ARM, ModelSpec, "the test's model")
    running = MultibodyEstimator(spec, None, next(iter(spec.methods)), check=CHECK, uncertainty=stated)
    running.estimate(np.full((6, 3), np.nan), 0.0)
    measured, rng, rows, n_copy = running.outputs.markers.copy(), np.random.default_rng(7), [], 400
    running.restart()
    for _ in range(3):
        running.deviate(0.01, running.estimate(measured, 0.01))
    assert running.deviations is not None
    expected = running.deviations.coordinates.copy()
    for _ in range(n_copy if not settings.DISABLE_JIT else 40):
        running.estimate(measured + rng.normal(0.0, 1e-3, measured.shape), 0.0)
        rows.append(running.q.copy())
    np.testing.assert_allclose(expected[2], 0.5 * expected[0], rtol=1e-6)
    np.testing.assert_allclose(np.std(rows, axis=0), expected, rtol=4.0 / np.sqrt(2 * len(rows)) + 0.01)


def test_it_is_made_anew_now_and_then_and_where_markers_change() -> None:
    """Protects the cost of a frame, and frames whose markers have just gone: not the former covariance."""
    running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=EXACT)
    found, trial, editions = running.deviations, leg.soft_tissue_trial()[: 2 * EVERY + 3].copy(), []
    assert found is not None
    trial[-2:, leg.indices("T2")] = np.nan
    for k, measured in enumerate(trial):
        running.deviate(leg.DT if k else 0.0, running.estimate(measured, leg.DT if k else 0.0))
        editions.append(found.covariance_version)
    expected = [1 + k // EVERY for k in range(len(trial))]
    expected[-2:] = [expected[-3] + 1] * 2  # the marker has gone
    assert editions == expected


def test_it_is_of_one_pose() -> None:
    """Protects places: coordinates that err together do so in another way at each pose, and a mean of their
    covariances would make a foot three times as uncertain as its markers.
    """
    trial, found = leg.soft_tissue_trial()[: 2 * EVERY + 1], []
    for begin in (0, 2 * EVERY):
        running = MultibodyEstimator(leg.lower_limb(), leg.SUBJECT, "zero", check=CHECK, uncertainty=EXACT)
        assert running.deviations is not None
        running.deviations.state.other.wait[:] = 1000  # frames without another assembly
        for k, measured in enumerate(trial[begin:]):
            running.deviate(leg.DT if k else 0.0, running.estimate(measured, leg.DT if k else 0.0))
        found.append(running.deviations.covariance.copy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6 * np.abs(found[0]).max())


def test_nothing_is_left_of_what_was_before() -> None:
    """Protects a stream that begins anew: its deviations are those of a first stream, to the last bit."""
    stated, found = Uncertainty(average_s=0.5), []
    for former_dt in (0.0, 0.2):  # slower than the time constant from one covariance to the next
        running = MultibodyEstimator(
            leg.lower_limb(), leg.SUBJECT, "minimised", check=CHECK, uncertainty=stated
        )
        deviations = running.deviations
        assert deviations is not None
        if former_dt:
            for measured in leg.soft_tissue_trial()[EVERY : 2 * EVERY - 2]:
                running.deviate(former_dt, running.estimate(measured, former_dt))
            deviations.state.mean[:] = 1e20  # as of a pose that was hardly determined
            running.restart()
        for k, measured in enumerate(leg.soft_tissue_trial()[: 2 * EVERY + 1]):
            running.deviate(leg.DT if k else 0.0, running.estimate(measured, leg.DT if k else 0.0))
        found.append((deviations.covariance.copy(), deviations.angles.copy()))
    for first, anew in zip(*found, strict=True):
        np.testing.assert_array_equal(anew, first)


def test_a_pose_that_was_not_solved_has_none() -> None:
    """Protects from the deviations of an earlier pose: NaN at once, and anew with the next pose."""
    running, measured = running_at("minimised")
    found, out = running.deviations, np.zeros((1, 3))
    assert found is not None
    covariance_version, place = found.covariance_version, mean_place(np.ones(1), np.zeros((1, 3)))
    running.deviate(leg.DT, running.estimate(measured, leg.DT)._replace(converged=False))
    found.write_places(place, out)
    assert found.covariance_version == covariance_version + 1
    assert np.isnan(out).all()
    assert np.isnan(found.coordinates).all()
    running.deviate(leg.DT, running.estimate(measured, leg.DT))
    found.write_places(place, out)
    assert found.covariance_version == covariance_version + 2
    assert (out > 0.0).all()


def test_a_method_that_is_switched_to_has_another_edition() -> None:
    """Protects what follows from the covariance: that of the method before does not stay."""
    running = MultibodyEstimator(
        leg.lower_limb(), leg.SUBJECT, "zero", ("ball",), check=CHECK, uncertainty=PLAIN
    )
    trial, editions = leg.soft_tissue_trial(), []
    for k, method in enumerate(("zero", "ball", "ball", "zero", "ball")):
        if method != running.method:
            running.switch(method)
        running.deviate(leg.DT, running.estimate(trial[k], leg.DT))
        assert running.deviations is not None
        editions.append(running.deviations.covariance_version)
    assert editions == [1, 2, 2, 3, 4]
