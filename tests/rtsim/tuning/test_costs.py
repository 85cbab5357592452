"""Costs of cycles: what becomes of numbers, where cycles begin, which do not count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtsim.config.load import check_record
from rtsim.config.runs.tuning_schema import CostTerm, TuningSpec
from rtsim.errors import ConfigError
from rtsim.tuning.costs import CycleCost, find, reduced
from streams.messages import FieldSpec

FIELDS = (
    FieldSpec("forces", (2,), "N", ("heel", "ball")),
    FieldSpec("places", (2, 3), "m", ("heel", "ball"), ("x", "y", "z")),
    FieldSpec("lone", (1,), "1", ("only",)),
)
PERIOD = {"period_s": 0.5}
BALL = {"field": "forces", "label": "ball"}


def spec(cycle: dict, *costs: dict, **more) -> TuningSpec:
    """Return a table [tuning]."""
    return check_record({"costs": list(costs) or [BALL], "cycle": cycle, **more}, TuningSpec, "made up")


def data(heel: float, ball: float = 0.0) -> dict[str, np.ndarray]:
    """Return a frame."""
    return {"forces": np.array([heel, ball]), "places": np.arange(6.0), "lone": np.array([7.0])}


def test_reductions() -> None:
    """Protects each cost of a cycle by a sine whose numbers are known."""
    phases = np.arange(400) / 400.0
    sine = 2.0 * np.sin(2.0 * np.pi * phases) + 1.0
    found = {
        name: reduced(CostTerm("f", reduction=name), sine, phases)
        for name in ("peak", "rms", "mean_square", "mean")
    }
    assert found == pytest.approx({"peak": 3.0, "rms": math.sqrt(3.0), "mean_square": 3.0, "mean": 1.0})
    level = CostTerm("f", reduction="from_target", target=(1.0,))
    assert reduced(level, sine, phases) == pytest.approx(math.sqrt(2.0))
    triangle = CostTerm("f", reduction="from_target", target=(0.0, 1.0))
    assert reduced(triangle, 1.0 - np.abs(2.0 * phases - 1.0), phases) == pytest.approx(0.0, abs=1e-12)


def test_numbers_are_found_by_their_names() -> None:
    """Protects configs: any published number can be named, and a wrong name is told with those there are."""
    frame = data(1.0)
    parts = check_record({"field": "places", "label": "ball", "part": "y"}, CostTerm, "made up")
    assert find(parts, FIELDS).read(frame) == 4.0
    assert find(CostTerm("lone"), FIELDS).read({"lone": frame["lone"].tobytes()}) == 7.0
    wrong = {
        CostTerm("force"): "forces, places", CostTerm("forces", "toe"): "heel, ball",
        CostTerm("places", "heel"): "x, y, z", CostTerm("lone", part="x"): "no vector components",
    }  # fmt: skip
    for term, words in wrong.items():
        with pytest.raises(ConfigError, match=words):
            find(term, FIELDS)


def test_cycles_of_a_period_begin_after_what_must_settle() -> None:
    """Protects costs from transients: whole periods of the model's time alone, terms by their weights."""
    squared = {**BALL, "reduction": "mean_square", "weight": 0.5}
    cost = CycleCost(spec(PERIOD, BALL, squared, cycles=2), FIELDS, 0.7)
    for n in range(300):
        if cost.done:
            break
        time = 0.01 * (n + 1)
        cost.add(time, data(0.0, 100.0 if time < 1.0 else 2.0))
    assert cost.costs == pytest.approx([4.0, 4.0])
    assert time == pytest.approx(2.0)
    assert cost.cost == pytest.approx(4.0)


def test_cycles_begin_with_an_event() -> None:
    """Protects gait: a cycle lasts from one heel strike to the next, whatever it lasts."""
    cost = CycleCost(
        spec({"begins": {"field": "forces", "label": "heel"}, "above": 20.0}, cycles=2), FIELDS, 0.0
    )
    times = [n for n in range(1, 100) if not cost.done]
    for n in times:
        strikes = n in (13, 33, 63)
        cost.add(0.01 * n, data(50.0 if strikes else 0.0, 1.0 if 33 <= n < 63 else 3.0))
    assert cost.costs == pytest.approx([3.0, 1.0])


def test_cycles_that_lack_frames_do_not_count() -> None:
    """Protects costs from what was lost on the way, and from numbers that are none."""
    cost = CycleCost(spec(PERIOD, cycles=2), FIELDS, 0.0)
    for n in range(1, 400):
        if not 70 <= n < 75:
            cost.add(0.01 * n, data(0.0, math.nan if n == 120 else 1.0))
    assert cost.n_broken == 2
    assert cost.costs == [1.0, 1.0]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"costs": [], "cycle": PERIOD}, "costs"),
        ({"costs": [BALL], "cycle": {}}, "either period_s or begins"),
        ({"costs": [{**BALL, "reduction": "from_target"}], "cycle": PERIOD}, "needs a target"),
        ({"costs": [{**BALL, "target": [1.0]}], "cycle": PERIOD}, "from_target"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(tables: dict, words: str) -> None:
    """Protects tuning from a table that leaves open what a setting costs."""
    with pytest.raises(ConfigError, match=words):
        check_record(tables, TuningSpec, "made up")


BEGINS = {"begins": {"field": "forces", "label": "heel"}, "above": 20.0}


@pytest.mark.parametrize("cycle", [PERIOD, BEGINS], ids=["period", "event"])
def test_a_cycle_whose_beginning_is_missing_does_not_count(cycle: dict) -> None:
    """Protects costs: what is left of a cycle after lost frames is none, neither by time nor by an event."""
    cost = CycleCost(spec(cycle, {**BALL, "reduction": "mean"}, cycles=9), FIELDS, 0.0)
    for n in range(1, 320):
        if not 140 <= n < 165:
            cost.add(0.01 * n, data(50.0 if n % 50 < 20 else 0.0, float(n % 50)))
    assert cost.costs == pytest.approx([24.5] * 3)
    assert cost.n_broken == 2


def test_an_event_is_seen_beside_values_that_are_none() -> None:
    """Protects gait: without a number in the frame before a heel strike two strides are not taken as one."""
    cost = CycleCost(spec(BEGINS, cycles=9), FIELDS, 0.0)
    for n in range(1, 220):
        heel = 50.0 if n % 50 < 20 else 0.0
        cost.add(0.01 * n, data(math.nan if n in (99, 149) else heel, 1.0 + n // 100))
    assert cost.costs == pytest.approx([1.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("first", "beyond", "costs", "n_broken"),
    [(195, 226, [3.0, 4.0], 2), (155, 206, [3.0, 4.0], 1), (130, 133, [2.0, 3.0, 4.0], 1), (120, 121, [], 0)],
    ids=["end", "whole swing", "inside", "one frame"],
)
def test_a_cycle_in_which_its_event_was_not_seen_does_not_count(
    first: int, beyond: int, costs: list[float], n_broken: int
) -> None:
    """Protects gait: while the force under the heel is none, a heel strike may come and go unseen, so that
    a stride ends late or two strides are taken as one; a single such frame is harmless."""
    cost = CycleCost(spec(BEGINS, cycles=9), FIELDS, 0.0)
    for n in range(1, 520):
        heel = 50.0 if n % 100 < 60 else 0.0
        cost.add(0.01 * n, data(math.nan if first <= n < beyond else heel, float(n // 100)))
    assert cost.costs == pytest.approx(costs or [1.0, 2.0, 3.0, 4.0])
    assert cost.n_broken == n_broken


@pytest.mark.parametrize("n_before", [1, 2])
def test_a_gap_among_the_first_frames_is_none_of_the_usual_steps(n_before: int) -> None:
    """Protects the first cycle: lost frames at its beginning are noticed from the frames before them."""
    cost = CycleCost(spec(PERIOD, {**BALL, "reduction": "mean"}, cycles=9), FIELDS, 0.0)
    times = [*range(50 - n_before, 50), *range(75, 160)]
    for n in times:
        cost.add(0.01 * n, data(0.0, float(n % 50)))
    assert cost.costs == pytest.approx([24.5])
    assert cost.n_broken == 1
