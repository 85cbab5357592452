"""Parameters while a run goes on: never outside their ranges, whatever is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtsim.device.tuning import LONGEST_RAMP_S, MOST_SNAPSHOTS, OVER_S, Tuning

RANGES = {"stiffness": (0.0, 40.0), "neutral": (-10.0, 10.0)}


def made() -> Tuning:
    """Return three parameters, two of which may be set; a change takes ten ticks."""
    return Tuning({"neutral": 0.0, "stiffness": 30.0, "damping": 0.1}, RANGES, 0.1)


def test_a_change_is_a_straight_ramp() -> None:
    """Protects whoever wears it from jumps, and others' values from being moved."""
    tuning = made()
    assert tuning.apply("set", {"stiffness": "10"}) == "Parameters change: stiffness 30 -> 10, over 0.1 s."
    found = []
    for _ in range(12):
        tuning.tick(0.01)
        found.append(tuning.values["stiffness"])
    assert found == pytest.approx([30.0 - 2.0 * k for k in range(1, 11)] + [10.0] * 2)
    assert tuning.values["damping"] == 0.1


@pytest.mark.parametrize(
    ("seconds", "is_refused"),
    [
        (0.0, False),
        (LONGEST_RAMP_S, False),
        (-0.001, True),
        (LONGEST_RAMP_S + 0.001, True),
        ("soon", True),
    ],
)
def test_the_duration_of_a_change_has_bounds(seconds: object, is_refused: bool) -> None:
    """Protects whoever sets a parameter: at once and the longest ramp are allowed, no others."""
    told = made().refusal("set", {"stiffness": 20.0, OVER_S: seconds})
    assert bool(told) is is_refused
    assert ("duration" in told) is is_refused


def test_undo_and_snapshots_bring_values_back() -> None:
    """Protects A/B: what was kept comes back whole, and each undo goes one change back."""
    tuning = made()
    tuning.apply("set", {"stiffness": 10.0})
    tuning.apply("save", {"name": "soft"})
    tuning.apply("switch", {"name": "start"})
    assert tuning.targets["stiffness"] == 30.0
    tuning.apply("switch", {"name": "soft"})
    assert tuning.targets["stiffness"] == 10.0
    for expected in (30.0, 10.0, 30.0):
        assert tuning.refusal("undo", {}) == ""
        tuning.apply("undo", {})
        assert tuning.targets["stiffness"] == expected
    assert tuning.refusal("undo", {}) == "There is no change of parameters to undo."


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
            tuning.apply(name, args)
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
        tuning.apply("save", {"name": f"s{k}"})
    assert "already" in tuning.refusal("save", {"name": "more"})
    assert tuning.refusal("save", {"name": "s1"}) == ""


@pytest.mark.parametrize(
    ("name", "args"),
    [("set", {"neutral": 5.0, "over_s": 0.0}), ("switch", {"name": "mine"}), ("save", {"name": "more"}),
     ("undo", {"over_s": 0.0}), ("set", {"stiffness": 0.0, "over_s": 0.0})],
)  # fmt: skip
def test_nobody_shortens_the_ramp_of_another_parameter(name: str, args: dict) -> None:
    """Protects the wearer: a slow ramp goes on as it did, whatever another client asks of other parameters,
    or again of this one."""
    tuning = made()
    tuning.apply("set", {"stiffness": 0.0, "over_s": 10.0})
    tuning.apply("save", {"name": "mine"})
    tuning.apply("set", {"neutral": -5.0})
    for _ in range(100):
        tuning.tick(0.01)
    tuning.apply(name, args)
    values = []
    for _ in range(10):
        tuning.tick(0.01)
        values.append(tuning.values["stiffness"])
    assert values == pytest.approx([27.0 - 0.03 * k for k in range(1, 11)])


def test_a_new_target_takes_the_new_time_from_where_it_is() -> None:
    """Protects from leaps: another request for a parameter on its way begins where that is now."""
    tuning = made()
    tuning.apply("set", {"stiffness": 10.0, "over_s": 1.0})
    for _ in range(50):
        tuning.tick(0.01)
    assert tuning.values["stiffness"] == pytest.approx(20.0)
    tuning.apply("set", {"stiffness": 40.0, "over_s": 2.0})
    tuning.tick(0.01)
    assert tuning.values["stiffness"] == pytest.approx(20.1)


def test_no_change_is_a_leap() -> None:
    """Protects the wearer from over_s = 0: a change takes the least time, and the answer says so."""
    tuning = made()
    assert "this time was extended to 0.05 s" in tuning.apply("set", {"stiffness": 0.0, "over_s": 0.0})
    tuning.tick(0.01)
    assert tuning.values["stiffness"] == pytest.approx(24.0)
    for _ in range(4):
        tuning.tick(0.01)
    assert tuning.values["stiffness"] == 0.0
    told = tuning.apply("undo", {"over_s": 0.0}, least_s=0.0)  # while no torque is commanded
    assert told.endswith("over 0 s.")
    tuning.tick(0.01)
    assert tuning.values["stiffness"] == 30.0
