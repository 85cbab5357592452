"""What is told of a study: bars, maps and bands from its table alone."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.config.runs.study_schema import Design, SimulatedModel, StudyParameter, StudyResult, StudySpec
from rtsim.studies.designs import cases_of
from rtsim.studies.summary import bar_along, heat_of, quantiles_of, result_told


def study_of(kind: str, n: int = 0, **values: object) -> StudySpec:
    """A study of two parameters, x and z."""
    parameters = tuple(StudyParameter(name=name, key=f"model.{name}", **values) for name in "xz")
    return StudySpec(
        name="s", parameters=parameters, results=(StudyResult(name="y", column="c"),),
        design=Design(kind=kind, n=n), simulate=SimulatedModel(model="impact"),
    )  # fmt: skip


def table_of(spec: StudySpec) -> dict[str, np.ndarray]:
    """Its table, with y = 10 x + z."""
    x, z = np.array(cases_of(spec), float).T
    return {"case": np.arange(len(x)), "x": x, "z": z, "y": 10.0 * x + z}


def test_a_grid_has_means_at_both_ends_and_a_map() -> None:
    """Protects the tornado: the parameter that matters most is above, its ends are means."""
    spec = study_of("grid", values=(1.0, 2.0, 3.0))
    table = table_of(spec)
    panel, words = result_told(spec, "y", table["y"], table)
    assert [(bar.name, bar.start, bar.stop) for bar in panel.bars] == [("x", 12.0, 32.0), ("z", 21.0, 23.0)]
    assert panel.zero == pytest.approx(22.0)
    assert words[1] == "  x: mean result 12 at 1, 32 at 3"
    table["y"][4] = np.nan
    heat = heat_of(spec, "y", panel, table)
    assert heat is not None
    np.testing.assert_array_equal(heat.values, [[11.0, 12.0, 13.0], [21.0, np.nan, 23.0], [31.0, 32.0, 33.0]])
    assert heat.levels[0] == ("1", "2", "3")


@pytest.mark.parametrize(("kind", "n", "word"), [("saltelli", 256, "first order"), ("morris", 8, "mu*")])
def test_samples_have_their_indices(kind: str, n: int, word: str) -> None:
    """Protects the reading of a design: indices of the parameters that the table names, failures left out."""
    spec = study_of(kind, n, range=(0.0, 1.0))
    table = table_of(spec)
    values = table["y"].copy()
    values[3] = np.nan
    panel, words = result_told(spec, "y", values, table)
    assert [bar.name for bar in panel.bars] == ["x", "z"]
    assert panel.bars[0].stop == pytest.approx(100.0 / 101.0 if kind == "saltelli" else 10.0, rel=0.1)
    assert panel.bars[0].marks[0] <= panel.bars[0].stop <= panel.bars[0].marks[1] + 1e-9
    assert word in words[1]
    assert "1 were left out, because cases have no result" in words[-1]


def test_words_and_samples_have_bars_as_well() -> None:
    """Protects parameters that are no numbers, and continuous ones, whose outer fifths are compared."""
    bar = bar_along("m", np.array(["a", "b", "c"]), np.array([2.0, 1.0, 5.0]), False)
    assert (bar.start, bar.stop, bar.words) == (1.0, 5.0, ("b", "c"))
    x = np.linspace(0.0, 1.0, 101)
    bar = bar_along("x", x, 10.0 * x, True)
    assert (bar.start, bar.stop) == pytest.approx((1.0, 9.0))
    bar = bar_along("x", x, 10.0 * x, False)  # of a grid or list, however many values it has
    assert (bar.start, bar.stop, bar.words) == (0.0, 10.0, ("0", "1"))


def test_nothing_known_is_told() -> None:
    """Protects from figures of nothing: results that no case has, curves without a number."""
    spec = study_of("grid", values=(1.0, 2.0))
    table = table_of(spec)
    panel, words = result_told(spec, "y", np.full(4, np.nan), table)
    assert panel.bars == ()
    assert words == ["y: no case has a result"]
    found = quantiles_of(np.array([[np.nan, 1.0], [np.nan, 3.0]]))
    assert np.isnan(found[:, 0]).all()
    assert found[2, 1] == 2.0
