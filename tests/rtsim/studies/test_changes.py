"""Parameters of a study that would change the same value: only one of them could have an effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.errors import ConfigError
from rtsim.studies.plan import plan_of
from tests.rtsim.studies.impacts import impacts

ANALYSIS = """
name = "person"
[analyse.run]
source = "walker"
side = "right"
method = "minimised"
[[results]]
name = "adduction"
column = "joint_angles.knee_adduction"
"""


def parameter(name: str, key: str, values: str, change: str = "set") -> str:
    """A parameter, as TOML."""
    return f'[[parameters]]\nname = "{name}"\nkey = {key}\nchange = "{change}"\nvalues = [{values}]\n'


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ('"model.bodies.ball.mass_kg"', "mass and more both change model.bodies.ball.mass_kg"),
        ('"model.bodies.0.mass_kg"', "mass and more both change model.bodies.0.mass_kg"),
        (
            '["model.simulation.step_ms", "model.simulation.step_ms"]',
            "the parameter more changes model.simulation.step_ms twice",
        ),
    ],
)
def test_a_value_that_is_changed_twice_is_refused(tmp_path: Path, key: str, words: str) -> None:
    """Protects indices and tables: of two changes of one value the first would vanish without a word."""
    text = impacts(mass=(0.5, 0.6)) + parameter("more", key, "0.1, 0.2", change="add")
    with pytest.raises(ConfigError, match=words):
        plan_of(text, str(tmp_path), "study")


@pytest.mark.parametrize(
    ("key", "values", "replaced"),
    [
        ("model.methods.minimised.soft.ACL", "1.0, 2.0", "run.model"),
        ("model.methods.minimised.soft.ACL", "1.0, 2.0", "run.side"),
        ("subject.segments.shank.length_mm", "400.0, 410.0", "run.subject"),
    ],
)
def test_a_key_of_the_run_that_has_no_effect_is_refused(
    tmp_path: Path, key: str, values: str, replaced: str
) -> None:
    """Protects studies of models and persons: a changed model or subject takes the place of the run's own."""
    text = ANALYSIS + parameter("inner", f'"{key}"', values)
    with pytest.raises(ConfigError, match=f"x changes {replaced}, which has no effect because inner changes"):
        plan_of(text + parameter("x", f'"{replaced}"', '"right", "left"'), str(tmp_path), "study")
    plan = plan_of(text + parameter("x", '"run.method"', '"zero", "minimised"'), str(tmp_path), "study")
    assert len(plan.cases) == 4
