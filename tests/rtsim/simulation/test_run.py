"""Runs in chunks: as in one piece, rows at the right times, stopped cleanly, judged at the end."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.rosenbrock.step import NON_FINITE, SINGULAR
from rtsim.errors import ConfigError, ModelError
from rtsim.simulation.run import SimulatedRun, check_run, run, warm_up
from tests.rtsim.simulation.loose import MODEL


def test_chunks_change_nothing(build, monkeypatch):
    """Protects every figure: however steps are cut into chunks, states and rows are the same to the bit."""
    whole, cut = build(), build()
    one = run(whole, 50, 4)
    monkeypatch.setattr("rtsim.simulation.run.CHUNK", 7)
    many = run(cut, 50, 4)
    np.testing.assert_array_equal(one.times, many.times)
    for name in ("q", "v", "v_dot", "line", "contact", "friction"):
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(many.trace, name))
    np.testing.assert_array_equal(whole.q, cut.q)
    assert (one.n_done, many.n_done, cut.time) == (50, 50, pytest.approx(0.05))


@pytest.mark.parametrize(("n_step", "every", "rows"), [(50, 4, 14), (48, 4, 13), (3, 10, 2), (5, 1, 6)])
def test_rows_and_their_times(build, n_step, every, rows):
    """Protects the abscissa: multiples of the interval from zero on, then the end, once."""
    simulator = build()
    done = run(simulator, n_step, every)
    steps = [*range(0, n_step, every), n_step]
    np.testing.assert_allclose(done.times, 1e-3 * np.array(steps), atol=1e-15)
    assert len(done.times) == len(done.trace.q) == len(done.trace.error) == rows
    np.testing.assert_array_equal(done.trace.q[-1], simulator.q)
    np.testing.assert_array_equal(done.trace.v[-1], simulator.v)


def test_a_run_goes_on_where_the_last_one_ended(build):
    """Protects a simulator that is used twice: times and states go on."""
    whole, parts = build(), build()
    run(whole, 30)
    run(parts, 11, 4)
    second = run(parts, 19, 4)
    np.testing.assert_array_equal(whole.q, parts.q)
    np.testing.assert_allclose(second.times, [0.012, 0.016, 0.02, 0.024, 0.028, 0.03], atol=1e-15)
    assert second.n_done == 19


def test_a_run_that_is_stopped_keeps_what_it_has(build, monkeypatch):
    """Protects Ctrl-C: the chunk is finished, its rows and the last state are there, progress was told."""
    monkeypatch.setattr("rtsim.simulation.run.CHUNK", 10)
    simulator, told = build(), []
    done = run(simulator, 50, 4, stop=lambda: len(told) == 2, progress=told.append)
    assert told == [10, 20]
    assert done.stopped
    assert (done.n_done, done.n_asked) == (20, 50)
    np.testing.assert_allclose(done.times, [0.0, 0.004, 0.008, 0.012, 0.016, 0.02], atol=1e-15)
    np.testing.assert_array_equal(done.trace.q[-1], simulator.q)


def test_stopping_after_the_last_step_is_no_stop(build):
    """Protects the outcome of a run that was complete when Ctrl-C came."""
    assert not run(build(), 5, stop=lambda: True).stopped


def test_warming_up_moves_nothing(build):
    """Protects the start: one row of it, no step."""
    simulator = build()
    q, v = simulator.q.copy(), simulator.v.copy()
    done = warm_up(simulator)
    assert (len(done.times), done.n_done, simulator.n_step) == (1, 0, 0)
    np.testing.assert_array_equal(simulator.q, q)
    np.testing.assert_array_equal(simulator.v, v)


def test_forces_that_are_no_numbers_at_the_start_are_told(build):
    """Protects against a run of NaN: the model is refused at once."""
    simulator = build()
    simulator.q[0] = np.nan
    with pytest.raises(ModelError, match="loose: the forces at the start are not finite numbers; correct"):
        warm_up(simulator)


def test_a_run_is_judged(build):
    """Protects against results that look sound: what is wrong, when, and the remedy; good runs pass."""
    simulator = build()
    good = run(simulator, 10)
    check_run(good, simulator)
    large = r"loose: .* is large in 2 of 10 time steps; allowed: .* 10% .* the step of 1 ms \(--step"
    with pytest.raises(ModelError, match=large):
        check_run(SimulatedRun(**{**vars(good), "n_large": 2}), simulator)
    check_run(SimulatedRun(**{**vars(good), "n_large": 1}), simulator)
    with pytest.raises(
        ModelError, match=r"no solution at 0\.01 s; shorten the step .* or simulation\.step_ms"
    ):
        check_run(SimulatedRun(**{**vars(good), "status": SINGULAR}), simulator)
    with pytest.raises(ModelError, match=r"no longer a finite number at 0\.01 s; .* without limit; kept$"):
        check_run(SimulatedRun(**{**vars(good), "status": NON_FINITE}), simulator, "; kept")


def test_a_failed_run_ends_at_its_last_state(build):
    """Protects the results of a run that breaks down: finite up to there, and said to be failed."""
    simulator = build(gains={"push": 1e300})
    done = run(simulator, 50)
    assert done.failed
    assert done.status == NON_FINITE
    assert done.n_done < 50
    assert len(done.times) == done.n_done + 1
    assert np.isfinite(simulator.q).all()
    with pytest.raises(ModelError, match="loose: the state is no longer a finite number"):
        check_run(done, simulator)


def test_gains_scale_loads(build):
    """Protects --load: gravity aside, twice the gain is twice the acceleration; others are refused."""
    rates = [warm_up(build(gains={"push": gain})).trace.v_dot[0] for gain in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(rates[2] - rates[1], rates[1] - rates[0], atol=1e-12)
    assert abs(rates[1] - rates[0]).max() > 1.0
    with pytest.raises(ConfigError, match="loose: unknown load 'pull'; allowed: push"):
        build(gains={"pull": 1.0})


def test_the_start_depends_on_gains_where_it_is_loaded(build):
    """Protects the order: the equilibrium is found with the loads that will act."""
    settings = MODEL[MODEL.index("[simulation]") : MODEL.index("hold = []")]
    right, wrong = settings, "start_s = -1.0\n\n" + settings.replace('"none"', '"loaded"')
    found = []
    for gain in (0.0, 1.0):
        simulator = build(right, wrong, gains={"push": gain})
        assert simulator.equilibrium.n_iteration > 0
        found.append(simulator.q.copy())
    assert abs(found[1] - found[0]).max() > 1e-4


def test_what_holds_exactly_is_held_or_told(build):
    """Protects against constraints that are left out in silence: speeds that part them are named, and what
    the model says to leave out is noted."""
    springs = '[[springs]]\nname = "centring"'
    ends = 'a = { segment = "bob" }\nb = { segment = "ball" }\ntarget_mm = 400.0\n\n'
    rod = '[[elements]]\nname = "rod"\nkind = "distance"\n' + ends
    with pytest.raises(ModelError, match=r"loose: rod: the speeds at the start separate constrained points"):
        build(springs, rod + springs)
    notes: list[str] = []
    last = 'plot = ["position"]\n'
    loose = build(last, f"{last}holds = []\n\n{rod}", note=notes.append)
    assert loose.work.holds is None
    assert notes == [
        "simulation.holds does not list these constraints of the model's first solution method, so a "
        "simulation does not enforce them: rod"
    ]


def test_a_method_may_take_a_coordinate_away(build):
    """Protects settings that name a coordinate of a joint which the method replaced: they are refused."""
    right = '[[springs]]\nname = "centring"'
    with pytest.raises(
        ConfigError, match=r"loose: simulation\.speeds: the coordinate 'swing' does not exist"
    ):
        build(right, '[methods.m]\njoints = { arm = "ball" }\n\n' + right)


def test_what_does_nothing_is_noted(build):
    """Protects against forces that are missed: muscles and soft elements are named, and the model runs."""
    springs = '[[springs]]\nname = "centring"'
    ends = 'a = { segment = "bob" }\nb = { segment = "ball" }\ntarget_mm = 400.0\n\n'
    rod = '[methods.m]\nsoft = { rod = 1.0 }\n\n[[elements]]\nname = "rod"\nkind = "distance"\n' + ends
    muscle = '[[muscles]]\nname = "pull"\npath = [{ segment = "block" }, { segment = "bob" }]\n\n'
    notes: list[str] = []
    simulator = build(springs, rod + muscle + springs, note=notes.append)
    assert notes == [
        "soft elements carry no force in a simulation: rod",
        "muscles without `hill` carry no force: pull",
    ]
    assert run(simulator, 5).n_done == 5


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("mass_kg = 0.5\n", "mass_kg = 0.0\n", "an inertia but no mass"),
        ("mass_kg = 0.5\ninertia_kg_m2 = [5.0e-4, 5.0e-4, 5.0e-4]", "", "ball.mass_kg: its joint does not"),
        ("inertia_kg_m2 = [5.0e-4, 5.0e-4, 5.0e-4]", "", "ball.mass_kg: its joint does not move any mass"),
        ('joint = "slider"', 'joint = "slider"\nin_child = { origin = "distal" }', "landmarks of a subject"),
        ('a = { segment = "block" }\nb = { segment = "ball" }',
         'a = { segment = "block", point = "knee" }\nb = { segment = "ball" }', "landmarks of a subject"),
    ],
)  # fmt: skip
def test_models_that_cannot_move_are_refused(build, right, wrong, words):
    """Protects against a matrix that cannot be inverted, and against places that only a person has."""
    with pytest.raises(ConfigError) as caught:
        build(right, wrong)
    assert words in str(caught.value)
