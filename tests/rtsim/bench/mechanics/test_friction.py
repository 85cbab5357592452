"""The bench of the friction experiments: its figures, and the reference that they are held against."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from rtsim.bench.mechanics import friction
from rtsim.bench.mechanics.friction_reference import LAWS, impact, stick_slip
from rtsim.cli.main import cli
from rtsim.models.load import load_model
from tests.naive.friction import Parameters, friction_force

NUMBERS = {"brown_mcphee": 0, "andersson": 1, "hollars": 2, "specker": 3}


def test_figures_of_a_short_bench():
    """Protects the bench itself: every figure is there, errors hold, split steps beat fixed ones by far."""
    figures = {f.name: f for f in friction.run(["brown_mcphee"], ["impact"], n_run=2)}
    assert figures["reference_error.impact.brown_mcphee"].holds
    assert figures["contact_ms.impact.brown_mcphee"].value == pytest.approx(6.94, abs=0.005)
    where = "impact.brown_mcphee"
    for name in ("veldd4.split.400us", "veldd4.split_0.8_0.5.400us", "veldd4.split.160us"):
        assert figures[f"max_error.{where}.{name}"].holds
        assert figures[f"max_error_of_near_steps.{where}.{name}"].holds
        assert math.isfinite(figures[f"real_time_factor.{where}.{name}"].value)
        assert figures[f"us_per_step.{where}.{name}"].value > 0.0
        assert figures[f"parts.{where}.{name}"].value < 100
    fixed = figures[f"max_error.{where}.ros34pw2.secant.50us"].value
    assert fixed > 100.0 * figures[f"max_error.{where}.veldd4.split.400us"].value


@pytest.mark.parametrize(("experiment", "law"), [("impact", "brown_mcphee"), ("stick_slip", "brown_mcphee")])
def test_rows_are_what_the_command_runs(experiment, law):
    """Protects the reader of a row: `rtsim simulate` with the row's options takes the same parts."""
    figures = {f.name: f.value for f in friction.run([law], [experiment], n_run=1)}
    assert {row.split for row in friction.SPLIT[experiment, law]} >= {None}
    for row in friction.SPLIT[experiment, law]:
        options = ["--method", row.method, "--kinks", row.kinks, "--step", str(row.step_ms)]
        options += ["--split", *map(str, row.split)] if row.split else []
        done = CliRunner().invoke(cli, ["simulate", experiment, *options, "--json"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert figures[f"parts.{experiment}.{law}.{row.name}"] == told["steps_parts"], row.name


@pytest.mark.parametrize("experiment", friction.DURATION)
def test_the_models_own_settings_are_a_row(experiment):
    """Protects the plain command: what the model's file says is among the rows, and the row keeps to 1e-6."""
    shipped = load_model(experiment).simulation
    rows = friction.FIXED[experiment] + friction.SPLIT[experiment, "brown_mcphee"]
    own = (shipped.method, shipped.step_ms, shipped.kinks, None)
    assert [row.max_error for row in rows if (row.method, row.step_ms, row.kinks, row.split) == own] == [1e-6]


def test_every_row_of_the_bench_is_named_once():
    """Protects the figures from overwriting each other: no two rows of a law have the same name."""
    for (experiment, law), split in friction.SPLIT.items():
        names = [row.name for row in friction.FIXED[experiment] + split]
        assert len(set(names)) == len(names), (experiment, law)
    assert {law for _, law in friction.SPLIT} == set(LAWS)


@pytest.mark.parametrize("law", LAWS)
def test_laws_of_the_reference(law):
    """Protects the reference: its laws are the printed ones, in both experiments."""
    velocities = np.concatenate([np.linspace(-5e-3, 5e-3, 41), [-4.0, 4.0]])
    for mu_v, F_n in ((0.0, 9.81), (10.0, 3.0), (10.0, 1200.0)):
        # Hollars' viscous friction is K_V of the normal force wherever the others have theirs
        parameters = Parameters(
            mu_v=mu_v, k_v=0.0154 if mu_v else 0.0, v_d=1e-3 if law == "andersson" else 0.25e-3
        )
        for v in velocities:
            expected = friction_force(NUMBERS[law], parameters, float(v), F_n)
            assert LAWS[law](float(v), F_n, mu_v) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_solutions_of_the_reference():
    """Protects the reference: momentum and energy of the ball, and a block that at first sticks."""
    solution, end = impact("hollars", 8e-3, 1e-10)
    v = 7.0 / math.sqrt(2.0)
    along, turning = solution(np.linspace(0.0, 8e-3, 50))
    # angular momentum about the floor is kept: v - 2/5 r w with the spin's sign
    assert along - 0.4 * turning == pytest.approx(np.full(50, v), rel=1e-9)
    assert (along[-1], turning[-1]) == pytest.approx((5.0 / 7.0 * v, -5.0 / 7.0 * v), rel=1e-8)
    assert end == pytest.approx(6.9395e-3, rel=1e-4)
    block = stick_slip("brown_mcphee", 1.0, 1e-10)(np.linspace(0.0, 1.0, 20))[0]
    assert np.abs(block - 0.1).max() < 1e-3
