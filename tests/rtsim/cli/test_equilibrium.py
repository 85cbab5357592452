"""`rtsim simulate` from a static equilibrium: what is told of it, and that its result is a start again."""

from __future__ import annotations

import json
import math

import pytest

HINGE = """
name = "hinge"
source = "made up"
[[bodies]]
name = "arm"
joint = "hinge"
axis = "w"
coordinates = [{{ name = "swing", neutral_deg = {0!r} }}]
mass_kg = 0.5
mass_centre_mm = [0.0, -200.0, 0.0]
inertia_kg_m2 = [0.01, 0.01, 0.01]
[[springs]]
name = "orthosis"
coordinate = "swing"
rest_deg = 30.0
stiffness_N_m_rad = 2.0
[simulation]
equilibrium = "loaded"
duration_s = 0.001
"""
SHORT = ("--duration", "0.001", "--step", "1", "--json")


def root() -> float:
    """Where the spring's torque and the weight's are equal [rad]."""
    low, high = 0.0, 0.5
    while high - low > 1e-15:
        q = 0.5 * (low + high)
        balance = 2.0 * (math.pi / 6.0 - q) - 0.5 * 9.81 * 0.2 * math.sin(q)
        low, high = (q, high) if balance > 0.0 else (low, q)
        if q in (low, high) and high - low < 1e-15:
            break
    return 0.5 * (low + high)


@pytest.mark.parametrize("degrees", [10.0, 100.0, -60.0, 0.0, math.degrees(root())])
def test_a_hinge_finds_its_rest_from_everywhere(here, tmp_path, degrees):
    """Protects models of one hinge: far from the root, near it, on it."""
    (tmp_path / "hinge.toml").write_text(HINGE.format(degrees))
    done = here("simulate", "hinge.toml", *SHORT)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["final"]["swing"]["value"] == pytest.approx(root(), abs=1e-9)
    assert told["start"]["stable"] is True


def test_an_unstable_start_is_told(here, tmp_path):
    """Protects users whose neutral pose stands on its head: kept, and said in both forms of the summary."""
    standing = HINGE.format(180.0).replace(
        "rest_deg = 30.0\nstiffness_N_m_rad = 2.0", "rest_deg = 180.0\nstiffness_N_m_rad = 0.1"
    )
    (tmp_path / "hinge.toml").write_text(standing)
    done = here("simulate", "hinge.toml", *SHORT)
    assert done.code == 0, done.err
    assert json.loads(done.out)["start"] == {
        "equilibrium": "loaded",
        "iterations": 0,
        "stable": False,
        "held": [],
    }
    assert "it is unstable: a small deviation grows" in here("simulate", "hinge.toml", *SHORT[:-1]).out


def test_the_knee_starts_from_its_own_start(here, tmp_path):
    """Protects a restart through files: where a resting model ends, written as its neutral, is its start."""
    from rtsim.config.paths import find_config

    text = find_config("knee", "models").read_text(encoding="utf-8")
    still = text.replace("force_N = [0.0, -20.0, 0.0]", "force_N = [0.0, 0.0, 0.0]")
    still = still.replace("gravity_m_s2 = [0.0, -9.81, 0.0]", "gravity_m_s2 = [0.0, 0.0, 0.0]")
    still = still.replace('hold = ["flexion"]', "hold = []")
    (tmp_path / "still.toml").write_text(still)
    first = json.loads(here("simulate", "still.toml", *SHORT).out)
    assert first["start"]["iterations"] > 0
    for name, end in first["final"].items():
        unit, scale = ("deg", 180.0 / math.pi) if end["unit"] == "rad" else ("mm", 1e3)
        start = still.index(f'name = "{name}", neutral_{unit} = ')
        stop = still.index("}", start)
        still = f'{still[:start]}name = "{name}", neutral_{unit} = {scale * end["value"]!r} {still[stop:]}'
    (tmp_path / "again.toml").write_text(still)
    again = json.loads(here("simulate", "again.toml", *SHORT).out)
    assert again["start"]["iterations"] <= 2
    for name, end in again["final"].items():
        assert end["value"] == pytest.approx(first["final"][name]["value"], abs=1e-9)
