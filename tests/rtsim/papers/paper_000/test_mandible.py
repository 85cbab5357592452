"""Tables and figures of paper 000: both models of the mandible's joint on short runs of the synthetic jaw."""

from __future__ import annotations

import numpy as np
import pytest

import rtsim.papers.paper_000.jaw_runs
from rtsim.papers.catalogue import items_of
from rtsim.papers.item import ItemInput, ItemResult
from rtsim.papers.paper_000.jaw_runs import N_CYCLE, phases_of, seconds_of, study_of, task_of
from rtsim.papers.paper_000.printed_tables import TABLE_1, TABLE_2


def computed(name: str) -> ItemResult:
    """Return an item by its name, of which every row has a bound or says why there is none."""
    (item,) = (item for item in items_of("000") if item.name == name)
    result = item.compute(ItemInput())
    assert all(row.bound or row.reason for row in result.rows)
    return result


@pytest.mark.parametrize("name", ["table 1", "table 2", "figure 3", "figure 4"])
def test_what_the_paper_states_holds(name: str) -> None:
    """Protects all three tasks in one command: a row for every printed number, no bound that is missed."""
    result = computed(name)
    assert [row.quantity for row in result.rows if row.is_held is False] == []
    printed = {"table 1": 8 * len(TABLE_1), "table 2": 4 * len(TABLE_2)}.get(name, 0)
    assert sum(not row.bound for row in result.rows) == printed


def test_a_task_has_five_whole_cycles() -> None:
    """Protects the means of tables and figures: five cycles, behind where the filter has settled."""
    own = task_of("protrusion")
    assert len(own.cycles) == N_CYCLE
    assert own.fdk.times[-1] <= seconds_of("protrusion")
    mean, off = phases_of("protrusion", own.fdk.times, own.truth)
    assert off.max() < 0.05 * np.ptp(mean)


def test_the_figure_of_a_task_has_its_band(monkeypatch) -> None:
    """Protects figures 5 to 7: measurement, both models and the study, with bands, along AP, SI, ML."""
    monkeypatch.setattr(rtsim.papers.paper_000.jaw_runs, "STRAINS", (0.0,))
    study_of.cache_clear()
    result = computed("figure 5")
    study_of.cache_clear()
    assert [row.quantity for row in result.rows if row.is_held is False] == [
        "chewing: number of runs in the parameter study"
    ]  # three of fifteen, as asked for here
    assert len(result.panels) == 12
    assert list(result.panels[0].curves) == ["measured", "POP", "FDK", "15 runs"]
    assert [panel.title.split()[1].strip(",") for panel in result.panels[:3]] == ["AP", "SI", "ML"]
    assert all(panel.deviations for panel in result.panels)
