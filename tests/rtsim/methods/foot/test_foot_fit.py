"""The fit of a foot's contact: exact slopes, known parameters found again, what is not determined is told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.methods.foot.foot_fit import FootProblem, fit_foot, outcome, search, validate_foot
from rtsim.methods.foot.foot_misfit import StepMisfit, Weights
from rtsim.methods.foot.foot_model import foot_of, model_of, with_toes
from rtsim.methods.foot.foot_motion import N_KNOT, N_SPLINE, spline_bounds
from rtsim.methods.foot.foot_parameters import (
    NAMES,
    TABLE_5_4,
    TABLE_5_6,
    N,
    angles_of,
    bounds,
    euler,
    fill,
    guess,
    guesses,
    nearest_form,
    new_foot,
)
from rtsim.methods.foot.rolling_foot import known_step, thesis_frame, true_parameters
from rtsim.models.load import load_model

Array = NDArray[np.floating]
FORCE = Weights(pressure=0.0)
ALL = Weights(friction=1.0, spin=1.0)


@pytest.fixture(scope="module")
def truth() -> Array:
    """Parameters of the synthetic foot."""
    return true_parameters(0)


@pytest.fixture(scope="module")
def step(truth):
    """A synthetic step."""
    return known_step(truth, 1)


@pytest.fixture(scope="module")
def rubbing(truth):
    """The same with friction."""
    return known_step(truth, 1, friction=True)


def test_the_measurement_is_reproduced_by_the_truth(rubbing, truth):
    """Protects that eq. 5.52 is zero where parameters and motion are the true ones."""
    model = new_foot(friction=True)
    fill(model, truth)
    misfit = StepMisfit(rubbing.trial, ALL, model)
    assert np.abs(misfit.values(rubbing.knots)).max() < 1e-9
    errors = misfit.errors(misfit.simulate(rubbing.knots))
    assert max(errors.normal, errors.cop, errors.pressure, errors.friction, errors.spin) < 1e-9


@pytest.mark.parametrize("weights", [FORCE, Weights(), ALL])
def test_slopes_are_those_of_differences(rubbing, weights):
    """Protects exact slopes of every residual by all 100 unknowns."""
    problem = FootProblem([rubbing.trial], weights, guess(rubbing.trial.frame))
    rng = np.random.default_rng(3)
    x = problem.start(problem.around) + rng.uniform(-0.1, 0.1, len(problem.scale))
    x = np.clip(x, problem.bounds.low, problem.bounds.high)
    found, h = problem.slopes(x), 1e-6
    for k in rng.choice(len(x), 40, replace=False):
        e = h * np.eye(len(x))[k]
        wanted = (problem.values(x + e) - problem.values(x - e)) / (2.0 * h)
        n = len(wanted) - problem.bends * len(x)  # the rest tells curvature alone
        assert not wanted[n:].any()
        # a cell at the rim of an ellipsoid may begin to bear within the steps
        np.testing.assert_allclose(found[:n, k], wanted[:n], rtol=0.0, atol=1e-4 * np.abs(found).max())


def test_cost_is_eq_5_52(rubbing, truth):
    """Protects scale factors and weights: the cost is the sum of the squared relative errors."""
    problem = FootProblem([rubbing.trial], ALL, truth)
    x = problem.start(truth)
    parameters, knots = problem.split(x)
    fill(problem.model, parameters)
    one = problem.steps[0]
    errors = one.errors(one.simulate(knots[0]))
    wanted = errors.normal**2 + errors.cop**2 + 0.1 * errors.pressure**2 + errors.friction**2 + errors.spin**2
    # a centre of pressure is faded out below 5 N
    assert float(np.sum(problem.values(x) ** 2)) == pytest.approx(wanted, rel=2e-3)


def test_parameters_are_found_again_where_the_data_determine_them(step, truth):
    """Protects identification: with pressure, without noise, along well determined directions within 1 %."""
    around = guess(step.trial.frame)
    fits = [fit_foot([step.trial], Weights(), one[None], around) for one in guesses(around, 3, 1)]
    fit = min(fits, key=lambda one: one.cost)
    assert fit.errors[0].pressure < 0.01
    assert fit.errors[0].normal < 0.001
    found = nearest_form(fit.parameters, truth)
    known = [NAMES.index(name) for name in ("k_V", "a_V", "heel a", "ball b", "toe a", "toe b", "toe c")]
    np.testing.assert_allclose(found[known], truth[known], rtol=0.01)


def test_curvature_bounds_that_of_the_pressure(step):
    """Protects the search's model: gradient and cost stay, no direction curves less than the slopes say."""
    problem = FootProblem([step.trial], Weights(), guess(step.trial.frame))
    x = problem.start(problem.around)
    found, values = problem.slopes(x), problem.values(x)
    n = len(values) - len(x)
    assert not values[n:].any()
    assert np.abs(found[n:]).max() > 0.0
    h = 1e-6 * np.random.default_rng(1).normal(size=len(x))
    change = np.sum(problem.values(x + h) ** 2) - np.sum(problem.values(x - h) ** 2)
    assert change == pytest.approx(4.0 * (found.T @ values) @ h, rel=2e-3)


def test_forces_are_found_again_from_a_wrong_start(step):
    """Protects the search: a foot a tenth to a fifth off bears the measured force after it, within 0.2 %."""
    around = guess(step.trial.frame)
    fit = fit_foot([step.trial], FORCE, guesses(around, 1, 1), around)
    assert fit.errors[0].normal < 0.002
    assert fit.errors[0].cop < 0.004
    assert fit.errors[0].n_lost == 0
    assert fit.complete
    assert fit.held == ("mu_d",)
    assert fit.weak, "ten knots of seven splines leave directions undetermined"
    assert all(np.isfinite(knots).all() for knots in fit.knots)


def test_another_step_is_foretold(step, truth):
    """Protects validation: held parameters, the motion alone corrected, bear another step within 1 %."""
    other = known_step(truth, 2, seconds=0.65, pressure=False)
    around = guess(step.trial.frame)
    fit = fit_foot([step.trial], FORCE, guesses(around, 1, 1), around)
    held = validate_foot([other.trial], FORCE, fit.parameters)
    np.testing.assert_array_equal(held.parameters, fit.parameters)
    assert held.errors[0].normal < 0.01
    assert held.errors[0].cop < 0.01
    assert len(held.held) == N


def test_markers_that_sit_higher_are_told_from_the_foot(truth):
    """Protects other feet and sessions: a heel's marker 5 mm off is found, and the force with it."""
    trial = known_step(truth, 2, seconds=0.65, pressure=False).trial
    higher = trial._replace(position=trial.position + 0.005 * np.eye(3)[2])
    plain = validate_foot([higher], FORCE, truth)
    found = validate_foot([higher], FORCE, truth, lifted=True)
    assert plain.errors[0].normal > 0.03
    assert plain.heights == (0.0,)
    assert found.errors[0].normal < 0.01
    assert found.heights[0] == pytest.approx(-0.005, abs=0.002)


@pytest.mark.parametrize("pressure", [True, False])
def test_slopes_by_a_height_are_those_of_its_change(step, pressure):
    """Protects the search with heights: slopes of residuals by all unknowns, by differences."""
    trial = step.trial if pressure else step.trial._replace(pressure=None)
    problem = FootProblem([trial], Weights(), guess(trial.frame), held=True, lifted=[True])
    x = problem.start(problem.around)
    x[-1] += 0.2
    assert len(x) == N_SPLINE * N_KNOT + 1
    h = np.zeros(len(x))
    h[-1] = 1e-6
    change = (problem.values(x + h) - problem.values(x - h)) / 2e-6
    n = len(change) - len(x) * problem.bends
    np.testing.assert_allclose(problem.slopes(x)[:n, -1], change[:n], atol=1e-4 * np.abs(change).max())
    assert problem.heights(x)[0] == pytest.approx(0.2 * problem.scale[-1])


def test_several_steps_share_their_parameters(step, truth):
    """Protects a fit of two feet: one set of parameters, knots of each, the height of the other heel."""
    other = known_step(truth, 2, seconds=0.65, pressure=False).trial
    higher = other._replace(position=other.position + 0.005 * np.eye(3)[2])
    problem = FootProblem([step.trial, higher], FORCE, guess(step.trial.frame), lifted=[False, True])
    x = problem.start(problem.around)
    assert len(x) == N - 1 + 2 * N_SPLINE * N_KNOT + 1
    h = 1e-6 * np.eye(len(x))[-1]
    change = (problem.values(x + h) - problem.values(x - h)) / 2e-6
    np.testing.assert_allclose(problem.slopes(x)[:, -1], change, atol=1e-4 * np.abs(change).max())
    search(problem, x, most=30)
    found = outcome(problem, np.zeros(1), 30, True)
    assert len(found.knots) == len(found.errors) == 2
    assert max(errors.normal for errors in found.errors) < 0.05
    assert found.heights == (0.0, pytest.approx(-0.005, abs=0.003))


def test_bounds_are_kept_and_told(step):
    """Protects the thesis' bounds of the correction, and that parameters at a bound are named."""
    around = guess(step.trial.frame)
    problem = FootProblem([step.trial], FORCE, around)
    x = problem.start(around)
    x[0] = problem.bounds.high[0]
    problem.values(x)
    assert "k_V" in outcome(problem, np.zeros(1), 1, True).at_bound
    own = spline_bounds()
    assert own.high[:N_KNOT].max() == 0.002
    assert own.low[5 * N_KNOT : 6 * N_KNOT].min() == -0.3
    assert own.high[3 * N_KNOT : 6 * N_KNOT].max() == 0.05
    fit = fit_foot([step.trial], FORCE, guesses(around, 1, 2), around)
    shape = bounds(around)
    assert (fit.parameters >= shape.low).all()
    assert (fit.parameters <= shape.high).all()
    assert all(np.abs(knots[:3]).max() <= 0.002 + 1e-12 for knots in fit.knots)


def test_an_interruption_keeps_the_best_so_far(step):
    """Protects long work: Ctrl-C after the first start gives its result, marked as incomplete."""
    around = guess(step.trial.frame)

    def interrupt(text: str) -> None:
        if text.startswith("start 1"):
            raise KeyboardInterrupt

    fit = fit_foot([step.trial], FORCE, guesses(around, 3, 1), around, interrupt)
    assert not fit.complete
    assert np.isfinite(fit.costs).tolist() == [True, False, False]
    assert fit.cost == pytest.approx(fit.costs[0])


def test_basin_hopping_is_no_worse(step):
    """Protects the global search: it begins at the best start and keeps the least."""
    around = guess(step.trial.frame)
    fit = fit_foot([step.trial], FORCE, guesses(around, 1, 1), around, hops=2)
    assert fit.cost <= np.nanmin(fit.costs) * (1.0 + 1e-9)
    assert np.isfinite(fit.costs).sum() >= 2


def test_starts_are_within_ten_percent():
    """Protects the spread of the starts, and that a seed gives the same ones."""
    found = guesses(TABLE_5_4, 10, 4)
    np.testing.assert_array_equal(found, guesses(TABLE_5_4, 10, 4))
    there = TABLE_5_4 != 0.0
    assert np.abs(found[:, there] / TABLE_5_4[there] - 1.0).max() <= 0.1


def test_guess_of_the_thesis_foot_is_table_5_4():
    """Protects that the guess is the printed one on the thesis' own foot."""
    np.testing.assert_allclose(guess(thesis_frame()), TABLE_5_4, rtol=0.0, atol=1e-12)


def test_angles_turn_about_body_fixed_axes():
    """Protects the 1-2-3 convention, its inverse and the axes of the slopes."""
    angles = np.array([[0.3, -0.4, 1.1]])
    R, axes = euler(angles)
    np.testing.assert_allclose(R[0].T @ R[0], np.eye(3), atol=1e-14)
    np.testing.assert_allclose(angles_of(R[0]), angles[0], atol=1e-14)
    for k in range(3):
        ahead, _ = euler(angles + 1e-6 * np.eye(3)[k])
        turned = (ahead[0] - R[0]) @ R[0].T / 1e-6
        np.testing.assert_allclose(
            [turned[2, 1], turned[0, 2], turned[1, 0]], axes[0, k], rtol=0.0, atol=2e-6
        )


def test_a_model_gives_its_parameters_back():
    """Protects the way into a model's axes and back, the toes' frame included."""
    frame = thesis_frame()
    spec = model_of(TABLE_5_6, frame, 688.0, "mine", "a test")
    found = foot_of(spec, "mine")
    again = model_of(
        found.parameters, with_toes(frame, found.toe_origin, found.toe_axes), 688.0, "mine", "a test"
    )
    for one, other in zip(spec.contacts, again.contacts, strict=True):
        np.testing.assert_allclose(one.a.offset_mm, other.a.offset_mm, atol=1e-5)
        np.testing.assert_allclose(one.a.radii_mm, other.a.radii_mm, atol=1e-5)
        np.testing.assert_allclose(one.a.turned_deg, other.a.turned_deg, atol=1e-4)
    np.testing.assert_allclose(
        found.parameters[:12], TABLE_5_6[:12] * 1.0 + [0, 0, 0.55, *[0] * 9], rtol=1e-6
    )
    np.testing.assert_allclose(found.toe_origin, frame.toe_origin, atol=1e-9)


def test_the_foot_of_table_5_6_is_the_shipped_model():
    """Protects one conversion of axes: all three ellipsoids of table 5.6, which stands beside every fit, are
    those of the shipped foot where the toes' frame is that of table 5.2, X medial and Z up.
    """
    shipped, frame = load_model("foot"), thesis_frame()
    toes = euler(np.array([[2.72, -0.20, -2.89]]))[0][0] * [-1.0, 1.0, -1.0]
    mine = model_of(TABLE_5_6, with_toes(frame, frame.toe_origin, toes), 70.0 * 9.81, "mine", "a test")
    for one, other in zip(shipped.contacts, mine.contacts, strict=True):
        np.testing.assert_allclose(one.a.offset_mm, other.a.offset_mm, atol=1e-4)
        shapes = []
        for contact in (one, other):
            x, y, z = np.radians(contact.a.turned_deg)
            E = euler(np.array([[x, y, z]]))[0][0]
            shapes.append((E * np.square(contact.a.radii_mm)) @ E.T)
        np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-2)


def test_another_model_is_refused():
    """Protects the sentence for a model that is no foot, and for one with two stiffnesses."""
    with pytest.raises(ConfigError, match="lacks bodies or contacts of a foot"):
        foot_of(load_model("knee"), "knee")
    foot = load_model("foot")
    heel = msgspec.structs.replace(foot.contacts[0], stiffness=1.0)
    two = msgspec.structs.replace(foot, contacts=(heel, *foot.contacts[1:]))
    with pytest.raises(ConfigError, match="the same stiffness"):
        foot_of(two, "foot")


def test_an_ellipsoid_has_many_names():
    """Protects comparisons: axes in another order, turned to match, are the same ellipsoid."""
    other = TABLE_5_6.copy()
    R, _ = euler(other[None, 9:12])
    other[3:6] = TABLE_5_6[[4, 5, 3]]
    other[9:12] = angles_of(R[0][:, [1, 2, 0]])
    np.testing.assert_allclose(nearest_form(other, TABLE_5_6), TABLE_5_6, atol=1e-12)


def test_names_are_the_table_of_parameters():
    """Protects table 5.1: thirty parameters, nine of each ellipsoid."""
    assert len(NAMES) == N == 30
    assert NAMES[3] == "heel a"
    assert NAMES[-1] == "toe gamma"
