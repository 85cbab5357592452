"""Designs: their cases are those of their definitions, and as many as are told before."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.runs.study_schema import Design, SimulatedModel, StudyParameter, StudyResult, StudySpec
from rtsim.errors import ConfigError
from rtsim.studies.designs import MOST_CASES, cases_of, morris, n_case, saltelli, valued


def study_of(design: Design, *parameters: StudyParameter) -> StudySpec:
    """A study of an impact with these parameters."""
    results = (StudyResult(name="y", column="c"),)
    return StudySpec(
        name="s",
        parameters=parameters,
        results=results,
        design=design,
        simulate=SimulatedModel(model="impact"),
    )


def test_a_grid_has_every_combination_and_a_list_has_rows() -> None:
    """Protects the numbering of cases: the last parameter changes first."""
    a = StudyParameter(name="a", key="model.a", values=(1, 2))
    b = StudyParameter(name="b", key="model.b", values=("x", "y"))
    assert cases_of(study_of(Design(), a, b)) == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert cases_of(study_of(Design(kind="list"), a, b)) == [(1, "x"), (2, "y")]


@pytest.mark.parametrize(("kind", "n", "count"), [("sobol", 8, 8), ("latin_hypercube", 5, 5),
                                                  ("saltelli", 4, 16), ("morris", 3, 9)])  # fmt: skip
def test_samples_lie_in_their_ranges_and_are_the_same_again(kind: str, n: int, count: int) -> None:
    """Protects samples: within the range, spread over it, fixed by the seed."""
    a = StudyParameter(name="a", key="model.a", range=(2.0, 4.0))
    b = StudyParameter(name="b", key="model.b", range=(1.0, 1e4), scale="log")
    spec = study_of(Design(kind=kind, n=n), a, b)
    cases = np.array(cases_of(spec))
    assert len(cases) == n_case(spec) == count
    assert (cases.min(axis=0) >= (2.0, 1.0)).all()
    assert (cases.max(axis=0) <= (4.0, 1e4 * (1.0 + 1e-12))).all()
    assert cases[:, 1].min() < 100.0 < cases[:, 1].max()
    np.testing.assert_array_equal(cases, cases_of(spec))
    other = cases_of(msgspec.structs.replace(spec, seed=1))
    assert not np.array_equal(cases, other)


def test_a_normal_distribution_has_its_mean_and_deviation() -> None:
    """Protects the reading of `normal`: mean first, then the standard deviation."""
    points = (np.arange(10_000) + 0.5) / 10_000
    x = valued(StudyParameter(name="a", key="model.a", normal=(5.0, 2.0)), points)
    assert x.mean() == pytest.approx(5.0)
    assert x.std() == pytest.approx(2.0, rel=1e-3)
    assert np.isfinite(
        valued(StudyParameter(name="a", key="m", normal=(0.0, 1.0)), np.array([0.0, 1.0]))
    ).all()


def test_blocks_of_a_saltelli_design_mix_two_samples() -> None:
    """Protects Sobol indices: block k is A with column k of B."""
    A, B, first, second = saltelli(8, 2, 0).reshape(4, 8, 2)
    np.testing.assert_array_equal(first, np.column_stack([B[:, 0], A[:, 1]]))
    np.testing.assert_array_equal(second, np.column_stack([A[:, 0], B[:, 1]]))


def test_trajectories_change_each_parameter_once_on_the_grid() -> None:
    """Protects Morris effects: d steps of the same length, each along another axis, within the cube."""
    points = morris(20, 3, 4, 0).reshape(20, 4, 3)
    steps = np.diff(points, axis=1)
    assert ((abs(steps) > 1e-12).sum(axis=(1, 2)) == 3).all()
    np.testing.assert_allclose(abs(steps).sum(axis=1), 2.0 / 3.0)
    np.testing.assert_allclose(points * 3.0, np.round(points * 3.0), atol=1e-12)
    assert 0.0 <= points.min() <= points.max() <= 1.0 + 1e-12


def test_too_many_cases_are_refused_before_one_is_made() -> None:
    """Protects memory: a thousand million cases are a sentence with the number."""
    values = tuple(range(1000))
    many = tuple(StudyParameter(name=name, key="model.a", values=values) for name in "abc")
    with pytest.raises(ConfigError, match=f"1,000,000,000 cases.*1 to {MOST_CASES:,}.*fewer values"):
        cases_of(study_of(Design(), *many))


@pytest.mark.parametrize(
    ("design", "words"),
    [({"kind": "sobol", "n": 6}, "is not a power of two"), ({"kind": "grid", "n": 6}, "remove n"),
     ({"kind": "morris", "n": 3, "levels": 5}, "odd"), ({"kind": "morris"}, "1 or more")],
)  # fmt: skip
def test_a_design_that_cannot_be_is_refused(design: dict, words: str) -> None:
    """Protects whoever writes a design: the sentence says what is allowed."""
    with pytest.raises(msgspec.ValidationError, match=words):
        msgspec.convert(design, Design)


def test_what_would_do_nothing_or_step_to_the_ends_of_nothing_is_refused() -> None:
    """Protects from impossible persons (8 deviations off) and from keys that have no effect."""
    a = StudyParameter(name="a", key="model.a", normal=(70.0, 10.0))
    with pytest.raises(ValueError, match="a normal distribution has no ends; give range"):
        study_of(Design(kind="morris", n=3), a)
    with pytest.raises(ValueError, match="only a range has a scale; remove scale"):
        StudyParameter(name="a", key="model.a", normal=(1.0, 0.5), scale="log")
    with pytest.raises(ValueError, match='at_s is used only with take = "at"'):
        StudyResult(name="y", column="c", take="mean", at_s=0.5)
