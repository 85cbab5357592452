"""The text of a study that is solved in a moment: a ball that strikes a surface."""

from __future__ import annotations

from collections.abc import Sequence

KEYS = {
    "step": "model.simulation.step_ms",
    "mass": "model.bodies.ball.mass_kg",
    "friction": "model.contacts.floor.friction.static",
}


def impacts(**values: Sequence[float]) -> str:
    """A study of the largest force over a grid of these parameters, as TOML; the last one changes first."""
    parameters = "".join(
        f'[[parameters]]\nname = "{name}"\nkey = "{KEYS[name]}"\nvalues = {list(found)}\n'
        for name, found in values.items()
    )
    return (
        f'name = "impacts"\n[simulate]\nmodel = "impact"\n{parameters}[[results]]\nname = "force"\n'
        'column = "contact_normal_forces.floor"\ntake = "largest"\n'
    )
