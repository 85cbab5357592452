"""Models whose simulation holds constraints: what a file may say, where they start, what is told of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.config.paths import find_config
from rtsim.errors import ConfigError, ModelError
from rtsim.report.simulation import summary, text
from rtsim.simulation.load import load_simulator
from rtsim.simulation.results import results_of, specs_of
from rtsim.simulation.run import check_run, run
from tests.kernels.rosenbrock.loops import FOUR_BAR
from tests.naive.dynamics import mass_matrix, momentum

CRANK = ", neutral_deg = 60.0"
START = 'hold = ["crank"]\nspeeds = { crank = 400.0 }\n'
LIGAMENT = """
[[ligaments]]
name = "band"
a = { segment = "link" }
b = { segment = "ground", offset_mm = [100.0, 300.0, 0.0] }
length = { target_mm = 250.0 }
stiffness_N = 100.0
slack_length_mm = 200.0
"""


@pytest.fixture
def bars(tmp_path):
    """The simulator of the four bars, or of ones in which a text is replaced by another."""

    def make(right: str = "", wrong: str = "", more: str = "", **options):
        assert right in FOUR_BAR
        path = tmp_path / "bars.toml"
        path.write_text((FOUR_BAR.replace(right, wrong, 1) if right else FOUR_BAR) + more, encoding="utf-8")
        return load_simulator(str(path), **options)

    return make


@pytest.fixture(scope="module")
def lift():
    """The shipped figure after a quarter of a second, and what its run says."""
    some = load_simulator("lift")
    return some, run(some, 250, 10)


def test_the_start_meets_what_is_held(bars):
    """Protects the start: what `hold` and `speeds` name is kept, the rest follows, and how far is told."""
    some = bars()
    names = some.model.coordinates.names
    q, v = (dict(zip(names, np.degrees(x), strict=True)) for x in (some.q, some.v))
    assert (q["crank"], v["crank"]) == (pytest.approx(60.0), pytest.approx(400.0))
    a, b = math.radians(q["crank"] + q["link"]), math.radians(q["rocker"])
    end = 0.1 * np.array([0.5, math.sqrt(0.75)]) + 0.25 * np.array([math.cos(a), math.sin(a)])
    np.testing.assert_allclose(end, [0.2 + 0.18 * math.cos(b), 0.18 * math.sin(b)], atol=1e-12)
    assert some.met.element == "loop.y"
    assert 0.02 < some.met.gap < 0.022
    assert (some.met.n_row, some.met.n_independent) == (3, 2)
    told = summary(some, done := run(some, 5), results_of(some, done))["start"]["held_exactly"]
    assert told == {
        "constraints": 3, "independent": 2, "left_out": ["loop.z"], "slight": {},
        "gap_m": some.met.gap, "at": "loop.y", "turned_rad": some.met.turned,
        "shifted_m": 0.0, "parting_m_s": some.met.rate,
    }  # fmt: skip


def test_a_restart_is_the_same_start(bars):
    """Protects a simulation that starts anew: to the bit."""
    some = bars()
    start = some.q.copy(), some.v.copy()
    some.run(20, 0, some.trace(0))
    some.reset()
    np.testing.assert_array_equal(some.q, start[0])
    np.testing.assert_array_equal(some.v, start[1])


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("offset_mm = [250.0", "offset_mm = [5.0",
         r"closed: loop\..: the pose at the start cannot be assembled with crank held fixed: a gap of .* mm"),
        (START, START.replace("400.0", "400.0, rocker = 400.0"),
         r"loop\..: the speeds at the start separate constrained points by .* mm/s; give fewer speeds"),
    ],
)  # fmt: skip
def test_a_start_that_cannot_be_is_one_sentence(bars, right, wrong, words):
    """Protects from a run of what cannot stand as asked: which constraint, by how much, what to do."""
    with pytest.raises(ModelError, match=words):
        bars(right, wrong)


@pytest.mark.parametrize(
    ("right", "wrong", "more", "words"),
    [
        (START, START + 'holds = ["belt"]\n', "", "simulation.holds: unknown 'belt'; allowed: loop"),
        (START, START + 'holds = ["loop", "loop"]\n', "", "simulation.holds"),
        (START, START + "holds = []\n", "", "simulation.hold: coordinates can be held only for"),
        (START, START + 'equilibrium = "loaded"\n', "", "no static equilibrium can be computed for a model"),
        (START, START + 'holds = ["band"]\n', LIGAMENT, "simulation.holds: unknown 'band'"),
        ("", "", LIGAMENT + '[methods.m]\nhard = ["loop", "band"]\n',
         "band: the method of the model keeps the length of this element constant, and in a simulation "
         "the force law of the element would act as well; list the constraints of a simulation in "
         "simulation.holds"),
        ('kind = "point"', 'kind = "distance"', "", "elements.loop: a constraint of this element needs a"),
        ('b = { segment = "rocker"', 'b = { segment = "tip"', '[[bodies]]\nname = "tip"\nparent = "link"\n'
         'joint = "weld"\n', "no joint moves link and tip relative to each other"),
    ],
)  # fmt: skip
def test_what_cannot_be_held_is_one_sentence(bars, right, wrong, more, words):
    """Protects the writer of a model: names, what has a law already, lengths, and what never moves."""
    with pytest.raises(ConfigError) as caught:
        bars(right, wrong, more)
    assert words in str(caught.value)


def test_a_method_may_hold_less(bars):
    """Protects `holds` from the methods of marker fitting: what it leaves out is free."""
    some = bars(START, "holds = []\n")
    assert some.simulation.holds is None
    assert "element_forces" not in {spec.name for spec in results_of(some, run(some, 5)).session.fields}


def test_what_locks_is_one_sentence(bars):
    """Protects from NaN: a crank driven beyond its reach ends the run, which names the loop and when."""
    driven = '\n[[couplers]]\ncoordinate = "crank"\nof = "time"\nlinear = [3.0, 1.0]\n'
    short = FOUR_BAR.replace("offset_mm = [250.0", "offset_mm = [100.0").replace(CRANK, "")
    locked = bars(FOUR_BAR, short.replace(START, driven))
    done = run(locked, 1000)
    assert 0 < done.n_done < 1000
    with pytest.raises(ModelError, match=r"loop\..* can no longer be satisfied: .* at 0\.\d* s"):
        check_run(done, locked)


def test_the_figure_is_held_to_the_floor(lift):
    """Protects the sum of forces: what the floor gives to heel and toe is the rate of momentum and the
    weight, the box included."""
    some, done = lift
    system, step = some.simulation.system, 1e-3
    names = list(some.model.names.holds)
    floor = {axis: [names.index(f"{end}.{axis}") for end in ("heel", "toe")] for axis in "xy"}
    fine = load_simulator("lift")
    trace = run(fine, 40, 1).trace
    P = np.array([momentum(system, q, v)[3:5] for q, v in zip(trace.q, trace.v, strict=True)])
    rate = (P[18] - 8.0 * P[19] + 8.0 * P[21] - P[22]) / (12.0 * step)
    weight = 9.81 * system.bodies.mass.sum()
    found = [trace.hold[20, floor[axis]].sum() for axis in "xy"]
    np.testing.assert_allclose(found, rate + np.array([0.0, weight]), rtol=1e-4, atol=0.05)
    assert (some.met.n_row, some.met.n_independent) == (12, 7)
    assert np.abs(done.trace.q[:, :3]).max() < 1e-12  # the foot stays where it is held


def changed_lift(tmp_path, more: str = "", speeds: str = ""):
    """Return the simulator of the figure with a text more, and with speeds at the start."""
    path, hold = tmp_path / "lift.toml", 'hold = ["ankle"'
    shipped = find_config("lift", "models").read_text(encoding="utf-8")
    path.write_text(shipped.replace(hold, f"{speeds}{hold}") + more, encoding="utf-8")
    return load_simulator(str(path))


def test_a_coupler_that_does_what_is_held_takes_its_force(tmp_path, lift):
    """Protects forces where a coupler holds the foot along x as heel and toe do: what it leaves of their rows
    is rounding, and no row of its own with forces beyond all measure.
    """
    some, done = lift
    other = changed_lift(tmp_path, more='\n[[couplers]]\ncoordinate = "foot_x"\nconstant = 0.0\n')
    assert (other.met.n_row, other.met.n_independent) == (12, 6)
    trace, names = run(other, 250, 10).trace, list(some.model.names.holds)
    np.testing.assert_allclose(trace.q, done.trace.q, rtol=0.0, atol=1e-9)
    ends = [names.index("heel.y"), names.index("toe.y")]
    np.testing.assert_allclose(trace.hold[:, ends], done.trace.hold[:, ends], rtol=1e-6)
    np.testing.assert_allclose(trace.coupler[:, 0], done.trace.hold[:, names.index("heel.x")], atol=1e-4)
    assert not trace.hold[:, [names.index("heel.x"), names.index("toe.x")]].any()


def test_speeds_that_part_what_is_held_are_told_as_they_are(tmp_path):
    """Protects the sentence, and the count of rows that act, which speeds at the start do not change."""
    with pytest.raises(
        ModelError,
        match=r"separate constrained points by 100 mm/s; give fewer speeds .* none that a coupler determines",
    ):
        changed_lift(tmp_path, speeds="speeds = { foot_x = 100.0 }\n")
    still = changed_lift(tmp_path, speeds="speeds = { foot_x = 0.0, foot_y = 0.0, foot_turn = 0.0 }\n")
    assert (still.met.n_row, still.met.n_independent) == (12, 7)


def test_the_energy_of_the_figure_is_accounted_for():
    """Protects the account: energy changes by what springs and dampers give, constraints add nothing."""
    fine = load_simulator("lift", method="rodas4p")
    trace = run(fine, 100, 1).trace
    system, springs = fine.simulation.system, fine.model.forces.springs
    kinetic = np.array([0.5 * v @ mass_matrix(system, q) @ v for q, v in zip(trace.q, trace.v, strict=True)])
    moment = -springs.stiffness * (trace.q[:, springs.coordinate] - springs.rest)
    moment -= springs.damping * trace.v[:, springs.dof]
    power = (moment * trace.v[:, springs.dof]).sum(axis=1)
    power += [weight_power(system, q, v) for q, v in zip(trace.q, trace.v, strict=True)]
    work = 1e-3 * np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]))])
    assert np.abs(work).max() > 1.0
    np.testing.assert_allclose(kinetic - kinetic[0], work, rtol=0, atol=2e-3 * np.abs(work).max())


def weight_power(system, q, v) -> float:
    """Power of gravity [W]: it acts on all momentum alike."""
    return float(momentum(system, q, v)[3:] @ system.gravity)


def test_forces_are_results(lift):
    """Protects element_forces: of every row by its name, in newtons, in files and in the summary."""
    some, done = lift
    results = results_of(some, done)
    spec = specs_of(results)["element_forces"]
    assert (spec.unit, spec.labels) == ("N", some.model.names.holds)
    np.testing.assert_array_equal(results.fields["element_forces"], done.trace.hold)
    said = text(summary(some, done, results))
    assert "satisfied exactly: 12 constraints, 5 of which follow from the others and carry no force" in said
    assert "the start pose violated hand_l.y by 41.4 mm" in said
    assert "constraint toe.y" in said


@pytest.mark.parametrize("name", ["lift", "squeezer"])
def test_a_shipped_model_names_its_constraints(name):
    """Protects what is shipped: it holds something, and nothing of its file is left out."""
    assert find_config(name, "models").is_file()
    notes: list[str] = []
    some = load_simulator(name, note=notes.append)
    assert some.met.n_independent > 0
    assert notes == []
