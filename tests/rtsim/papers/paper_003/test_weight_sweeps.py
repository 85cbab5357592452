"""Sweeps of the ligaments' weights: the groups of table 5, and what a variation between runs is."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.files.tables.panels import RANGE
from rtsim.live.inputs.sources import the_walker
from rtsim.models.load import ONE_LEG, load_model
from rtsim.papers.item import ItemInput
from rtsim.papers.paper_003 import weight_sweeps
from rtsim.papers.paper_003.cycles import MarkerCycle, draw_cycle, in_size, made_up_cycles
from rtsim.papers.paper_003.knee_runs import KneeSolver
from rtsim.papers.paper_003.printed_tables import LIGAMENTS
from rtsim.papers.paper_003.weight_sweeps import LEVELS, WeightRuns, groups_of, sensitivity, variation

N = 12
"""Frames of the short cycle."""


@pytest.fixture(scope="module")
def cycle() -> MarkerCycle:
    """The beginning of one made-up person's cycle."""
    spec, walker = load_model(ONE_LEG), the_walker()
    whole = draw_cycle(np.random.default_rng(3), spec, walker, 1)
    return whole._replace(measured=whole.measured[:N])


def combinations() -> np.ndarray:
    """(256, 4) - all weights."""
    grid = np.meshgrid(*[LEVELS] * 4, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


def test_each_group_has_27_runs() -> None:
    """Protects table 5: those of 256 runs in which one ligament alone weighs most, 27 for each."""
    weights = combinations()
    found = dict(groups_of(weights))
    assert list(found) == list(LIGAMENTS)
    assert [int(chosen.sum()) for chosen in found.values()] == [27] * 4
    assert np.sum(list(found.values()), axis=0).max() == 1
    assert (weights[found["MCL"], 2] == 1e4).all()


def test_variation_is_the_largest_over_frames_then_the_mean_over_persons() -> None:
    """Protects figures 6 to 9: least and largest run frame by frame, a frame that one run lacks left out."""
    values = np.zeros((3, 4, 10))
    values[1, 2, 0], values[2, 2, 0] = -1.0, 3.0
    values[0, 1, 3] = np.nan
    values[1, 1, 3] = 50.0
    values[1, 3, 3] = 2.0
    found = variation([values, np.zeros((3, 4, 10))])
    assert found[0] == pytest.approx(0.5 * 4.0)
    assert found[3] == pytest.approx(0.5 * 2.0)
    assert variation([values], np.array([True, True, False]))[0] == 1.0


LARGEST = (
    "largest standard deviation of a {} of the knee between runs in which one ligament has the weight 1e4"
)


def test_bounds_of_table_5_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the verdict: the largest standard deviation of the four groups, beside 1 degree and 4 mm."""
    weights = combinations()
    values = np.zeros((256, 5, 10))
    (_, of_acl), *_ = groups_of(weights)
    values[np.flatnonzero(of_acl), 3, 4] = np.arange(27.0)
    monkeypatch.setattr(weight_sweeps, "relative_runs", lambda given: WeightRuns(weights, [values]))
    rows = {row.quantity: row for row in sensitivity(ItemInput()).rows}
    expected = np.arange(27.0).std(ddof=1)
    anterior = rows[
        "anterior displacement, standard deviation between the runs in which ACL has the largest weight"
    ]
    assert anterior.ours == pytest.approx(expected)
    assert anterior.paper == 3.4
    assert rows[LARGEST.format("displacement")].ours == pytest.approx(expected)
    assert rows[LARGEST.format("displacement")].is_held is False
    assert rows[LARGEST.format("rotation")].is_held is True


def test_weights_changed_in_place_are_those_of_a_model(cycle: MarkerCycle) -> None:
    """Protects the sweep against a changed weight that is not used: a model with these weights in its file
    gives the same numbers, and the usual weights are there again afterwards."""
    weights = {"ACL": 100.0, "PCL": 1.0, "MCL": 1e4, "LCL": 1e3}
    spec = load_model(ONE_LEG)
    how = msgspec.structs.replace(spec.methods["minimised"], soft=weights)
    other = msgspec.structs.replace(spec, methods={**spec.methods, "minimised": how})
    solver = KneeSolver(cycle)
    usual = solver.run("minimised")
    swept = solver.run("minimised", weights)
    written = KneeSolver(cycle, other).run("minimised")
    for name in ("angles", "displacements", "lengthening", "contacts"):
        np.testing.assert_array_equal(getattr(swept, name), getattr(written, name))
        np.testing.assert_array_equal(getattr(solver.run("minimised"), name), getattr(usual, name))
    assert np.abs(swept.lengthening - usual.lengthening).max() > 0.1


def test_the_made_up_persons_are_those_of_the_paper_in_size() -> None:
    """Protects the data: five adults, one cycle each, other joint angles each, the same at every call."""
    cycles = made_up_cycles()
    assert [cycle.measured.shape for cycle in cycles] == [(131, 17, 3)] * 5
    lengths = [cycle.subject.segments["thigh"].length_mm for cycle in cycles]
    assert len(set(lengths)) == 5
    assert all(1.74 - 0.27 < 1.75 * length / 420.1 < 1.74 + 0.27 for length in lengths)
    assert not np.allclose(cycles[0].measured, cycles[1].measured)
    made_up_cycles.cache_clear()
    np.testing.assert_array_equal(made_up_cycles()[4].measured, cycles[4].measured)


def test_a_person_in_another_size_keeps_its_shape() -> None:
    """Protects the persons: lengths, markers and points grow alike, angles stay."""
    walker = the_walker()
    small = in_size(walker, 0.5)
    for name, segment in walker.segments.items():
        half = small.segments[name]
        assert half.length_mm == 0.5 * segment.length_mm
        assert half.alpha_deg == segment.alpha_deg
        for marker, place in segment.markers_mm.items():
            assert half.markers_mm[marker] == pytest.approx([0.5 * x for x in place])


def test_the_band_reaches_from_the_least_to_the_largest_run() -> None:
    """Protects figures 6 to 9: the band about the model's run holds every run, and the axis the band."""
    values = np.random.default_rng(1).normal(size=(5, 7, 10))
    runs = WeightRuns(np.ones((5, 4)), [values])
    (panel,) = weight_sweeps.band_panels(["PCL"], runs, {"table 3": 2}, "table 3", "gait cycle [%]")
    below, above = panel.deviations["table 3"]
    np.testing.assert_allclose(panel.curves["table 3"] - below, values[:, :, 7].min(axis=0))
    np.testing.assert_allclose(panel.curves["table 3"] + above, values[:, :, 7].max(axis=0))
    assert (panel.band, panel.whole_band) == (RANGE, True)
