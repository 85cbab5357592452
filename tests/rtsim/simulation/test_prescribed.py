"""Couplers and prescribed motion from a model file on: results, starts, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.paths import find_config
from rtsim.errors import ConfigError
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.packing.couplers import with_couplers
from rtsim.models.roles import roles_of
from rtsim.simulation.load import load_simulator
from rtsim.simulation.results import results_of, specs_of
from rtsim.simulation.run import run
from rtsim.simulation.simulator import Simulator
from rtsim.simulation.stride import SimulatorStride

KICK = find_config("kick", "models").read_text(encoding="utf-8")


@pytest.fixture
def kick(tmp_path):
    """The simulator of the kick, with texts replaced."""
    allow_compilation()

    def make(*changes: tuple[str, str]) -> Simulator:
        text = KICK
        for right, wrong in changes:
            assert right in text
            text = text.replace(right, wrong, 1)
        path = tmp_path / "kick.toml"
        path.write_text(text, encoding="utf-8")
        return load_simulator(str(path))

    return make


def test_the_moment_of_a_prescribed_angle_is_a_result(kick):
    """Protects the quantity: its name, unit and label, and that it is what the trace has."""
    simulator = kick()
    done = run(simulator, 40, 10)
    results = results_of(simulator, done)
    spec = specs_of(results)["prescribed_moments"]
    assert (spec.unit, spec.labels) == ("N m", ("hip",))
    assert "prescribed_forces" not in specs_of(results)
    tied = simulator.simulation.couplers
    own = int(np.flatnonzero(tied.coordinate == tied.driver)[0])
    np.testing.assert_array_equal(results.fields["prescribed_moments"][:, 0], done.trace.coupler[:, own])
    assert np.abs(done.trace.coupler[:, own]).max() > 1.0


def test_live_steps_are_those_of_a_run(kick):
    """Protects the same numbers live and in files: ticks know the time, also after a restart."""
    whole, some = kick(), kick()
    whole.run(40, 0, whole.trace(0))
    stride = SimulatorStride(some, 4)
    for _ in range(2):
        for k in range(10):
            stride.step(k == 9)
        np.testing.assert_array_equal(some.q, whole.q)
        np.testing.assert_array_equal(some.v, whole.v)
        stride.restart()


def test_an_equilibrium_holds_what_is_prescribed(kick):
    """Protects starts: what is prescribed rests where time zero puts it, followers follow, the rest sinks."""
    simulator = kick(("[simulation]", '[simulation]\nequilibrium = "loaded"'))
    assert simulator.equilibrium is not None
    assert simulator.equilibrium.stable
    simulator.work.reduction.clock[1] = 0.0
    trace = simulator.trace(1)
    simulator.run(0, 0, trace, last=True)
    names = simulator.model.coordinates.names
    found = dict(zip(names, simulator.q, strict=True))
    assert found["hip"] == pytest.approx(-0.5)
    assert found["kneecap_turn"] == pytest.approx(-0.7 * found["knee"], abs=1e-15)
    np.testing.assert_allclose(trace.v_dot, 0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("[simulation]", "[simulation]\nspeeds = { hip = 1.0 }", "'hip' is determined by its coupler"),
        (
            "[simulation]",
            '[simulation]\nequilibrium = "loaded"\nhold = ["kneecap_x"]',
            "'kneecap_x' is determined by its coupler",
        ),
        ('of = "time"', 'of = "clock"', "unknown 'clock'; allowed: hip, .*time"),
        ('name = "knee", neutral_deg', 'name = "time", neutral_deg', "time is also the name of a coordinate"),
        (
            '{ name = "hip" }',
            '{ name = "hip", neutral_deg = 3.0 }',
            "the neutral value of hip is determined by its coupler",
        ),
        ("mass_kg = 4.0\n", "", "knee does not move any mass|an inertia but no mass"),
    ],
)
def test_what_cannot_be_is_refused(kick, right, wrong, words):
    """Protects users: a sentence that names the key and the coordinate."""
    changes = [(right, wrong)]
    if wrong.startswith('name = "time"'):
        changes += [('of = "knee"', 'of = "hip"')] * 3 + [('coordinate = "knee"', 'coordinate = "hip"')]
        changes += [('"hip", "knee"', '"hip"')]
    with pytest.raises(Exception, match=words) as caught:
        kick(*changes)
    assert type(caught.value).__name__ in ("ConfigError", "ModelError")


def test_methods_without_time_refuse_prescribed_motion():
    """Protects moment arms and marker fitting: a motion over time is not taken for a constant in silence."""
    spec = load_model("kick")
    model = build(spec)
    with pytest.raises(
        ConfigError, match="prescribed over time, which is possible only in a forward simulation"
    ):
        MomentArms(model, roles_of(spec))
    with pytest.raises(ConfigError, match="prescribed over time"):
        with_couplers(model.tree, model.couplers)
