"""Figures and tables of paper 004, from the made-up lift and, where it is there, the paper's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.papers.catalogue import items_of
from rtsim.papers.item import ItemInput, ItemResult
from rtsim.papers.paper_004.lift_fits import SLACK
from rtsim.papers.paper_004.lift_motion import fit_of, lift_of, random_starts

LIFT = Path("data") / "stoop_lift" / "ID_2D" / "q_stoop2.csv"
OF_LIFT = ["table 1", "figure 3", "figure 4", "figure 5"]


def computed(name: str, recording: Path | None = None) -> ItemResult:
    """Return an item by its name, of which every row has a bound or says why there is none."""
    (item,) = (item for item in items_of("004") if item.name == name)
    result = item.compute(ItemInput(recording))
    assert all(row.bound or row.reason for row in result.rows)
    return result


@pytest.mark.parametrize("item", items_of("004"), ids=lambda item: item.name)
def test_what_the_paper_states_holds_of_shipped_data(item) -> None:
    """Protects every figure and table from the wheel: no bound is missed, and figures have panels."""
    result = computed(item.name)
    assert [row.quantity for row in result.rows if row.is_held is False] == []
    assert item.kind == "table" or result.panels


@pytest.mark.parametrize("name", OF_LIFT)
def test_the_own_trial_of_the_paper_keeps_its_numbers(shared, name: str) -> None:
    """Protects table 1 and its figures: of the authors' trial they are bounds, and are kept."""
    if not (shared / LIFT).is_file():
        pytest.skip("the stoop lift is not here")
    result = computed(name, shared / LIFT)
    assert result.has_data_of_paper
    assert [row.quantity for row in result.rows if row.is_held is False] == []
    assert any(row.bound for row in result.rows)


def test_more_starts_never_end_worse() -> None:
    """Protects fits from many starts: none is lost, and the best is at least as good as without them."""
    lift = lift_of(None)
    usual, more = (fit_of(lift, lift.hips[0], more_starts=starts) for starts in ((), random_starts(4)))
    assert more.objective <= usual.objective + SLACK
    assert sum(b.n_start for b in more.basins) > sum(b.n_start for b in usual.basins)
    assert np.ptp(random_starts(30), axis=0).min() > 0.8


def test_a_recording_that_is_no_lift_is_refused(tmp_path: Path) -> None:
    """Protects users who give markers, or joints of others: one sentence that says what is missing."""
    markers = tmp_path / "walk.trc"
    markers.write_text("no table")
    with pytest.raises(ConfigError, match="cannot be read as joint moments"):
        lift_of(markers)
    knees = tmp_path / "knees.csv"
    rows = [f"{0.1 * k},{0.1 * k},{k}.0" for k in range(5)]
    knees.write_text("\n".join(["time,angle.Knee_R,moment.Knee_R", *rows]))
    with pytest.raises(ConfigError, match="Hip_R"):
        lift_of(knees)
