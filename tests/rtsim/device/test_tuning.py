"""Parameters while a run goes on: never outside their ranges, whatever is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.device.tuning import MOST_SNAPSHOTS, Tuning

RANGES = {"stiffness": (0.0, 40.0), "neutral": (-10.0, 10.0)}


def made() -> Tuning:
    """Return three parameters, two of which may be set; a change takes ten ticks."""
    return Tuning({"neutral": 0.0, "stiffness": 30.0, "damping": 0.1}, RANGES, 0.1)


def test_a_change_is_a_straight_ramp() -> None:
    """Protects whoever wears it from jumps, and others' values from being moved."""
    tuning = made()
    assert tuning.obey("set", {"stiffness": "10"}) == "Parameters: stiffness 30 -> 10, over 0.1 s."
    found = []
    for _ in range(12):
        tuning.tick(0.01)
        found.append(tuning.values["stiffness"])
    assert found == pytest.approx([30.0 - 2.0 * k for k in range(1, 11)] + [10.0] * 2)
    assert tuning.values["damping"] == 0.1


def test_undo_and_snapshots_bring_values_back() -> None:
    """Protects A/B: what was kept comes back whole, and each undo goes one change back."""
    tuning = made()
    tuning.obey("set", {"stiffness": 10.0})
    tuning.obey("save", {"name": "soft"})
    tuning.obey("switch", {"name": "start"})
    assert tuning.targets["stiffness"] == 30.0
    tuning.obey("switch", {"name": "soft"})
    assert tuning.targets["stiffness"] == 10.0
    for expected in (30.0, 10.0, 30.0):
        assert tuning.refusal("undo", {}) == ""
        tuning.obey("undo", {})
        assert tuning.targets["stiffness"] == expected
    assert tuning.refusal("undo", {}) == "There is nothing to undo."


@given(
    asked=st.lists(
        st.tuples(
            st.sampled_from(["set", "undo", "save", "switch"]),
            st.dictionaries(
                st.sampled_from(["stiffness", "neutral", "damping", "name", "over_s", "x"]),
                st.floats()
                | st.text(max_size=4)
                | st.booleans()
                | st.sampled_from(["soft", "1e3", "7", "-3"]),
                max_size=3,
            ),
        ),
        max_size=30,
    )
)
def test_no_command_leads_outside_the_ranges(asked: list[tuple[str, dict]]) -> None:
    """Protects from any client: what is let through stays within the ranges on every tick, ramps included."""
    tuning = made()
    for name, args in asked:
        if not tuning.refusal(name, args):
            tuning.obey(name, args)
        for _ in range(3):
            tuning.tick(0.01)
            for key, (low, high) in RANGES.items():
                assert low - 1e-9 <= tuning.values[key] <= high + 1e-9
            assert tuning.values["damping"] == 0.1
    assert len(tuning.snapshots) <= MOST_SNAPSHOTS


def test_snapshots_are_bounded() -> None:
    """Protects memory: one name more is refused, a known one may be written over."""
    tuning = made()
    for k in range(MOST_SNAPSHOTS - 1):
        tuning.obey("save", {"name": f"s{k}"})
    assert "already" in tuning.refusal("save", {"name": "more"})
    assert tuning.refusal("save", {"name": "s1"}) == ""
