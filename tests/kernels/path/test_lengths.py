"""Lengths of paths as constraints: value, row, curvature and bias against differences of slow lengths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.dynamics.constrained import drift
from kernels.dynamics.constraints import (
    Constraints,
    ConstraintWork,
    constraint_bias,
    constraint_rows,
    new_constraint_work,
)
from kernels.dynamics.motion import new_velocities, velocities
from kernels.path.lengths import PathLengths, new_length_work, path_lengths
from kernels.path.surfaces import ELLIPSOID
from kernels.solver.constraints import HARD, PATH_LENGTH, Elements, Roles, add_curvature
from rtsim.models.packing.path_forces import moved_by
from tests.kernels.path.muscles import Case, random_case
from tests.naive import muscle_path
from tests.naive.differences import first_derivative, random_directions, second_along_finer
from tests.naive.mechanisms import couplers, not_rolling, posed

Array = NDArray[np.floating]

SEEDS = range(3)
OVER_TWO = 5
"""The muscle over two surfaces, whose slow length is a search and too coarse for differences."""


class Found(NamedTuple):
    """What the kernels say at q with speeds v."""

    value: Array  # (n,)
    row: Array  # (n, n_v)
    bias: Array  # (n,)
    curvature: Array  # (n, n_v, n_v)


def constraints_of(case: Case) -> Constraints:
    """Every path of a case as an element, held at a target of 0.1 m."""
    tree, n = case.tree, case.n_muscle
    moved = [sorted(moved_by(tree, case.stations, m)) for m in range(n)]
    path = np.zeros((n, max(map(len, moved))), np.int64)
    for row, dofs in zip(path, moved, strict=True):
        row[: len(dofs)] = dofs
    none, place = np.full(n, -1), np.zeros((n, 3))
    elements = Elements(
        np.full(n, PATH_LENGTH), none, none, place, place, place, np.array([*map(len, moved)]), path,
        np.ones(path.shape), PathLengths(np.arange(n), case.stations, case.surfaces),
    )  # fmt: skip
    roles = Roles(np.full(n, HARD), np.ones(n), np.full(n, 0.1))
    return not_rolling(elements, roles, couplers(tree, ()))


def found_at(case: Case, q: Array, v: Array) -> Found:
    """Value, row, bias and curvature of all paths."""
    tree, constraints = case.tree, constraints_of(case)
    n_body, n = len(tree.parent), case.n_muscle
    work: ConstraintWork = new_constraint_work(constraints, len(v), tree)
    at, speeds, along = posed(tree, q), new_velocities(n_body), np.zeros((n_body, 6))
    velocities(tree, at, v, speeds)
    drift(tree, speeds.bias, along)
    constraint_rows(tree, constraints, at, q, work)
    constraint_bias(tree, constraints, at, speeds.body, along, q, v, work)
    curvature = np.zeros((n, len(v), len(v)))
    for e in range(n):
        add_curvature(tree, constraints.elements, at, e, 2.0, work.element, curvature[e])
    lower = np.tril(curvature)
    np.testing.assert_array_equal(lower, curvature)
    whole = lower + np.swapaxes(np.tril(curvature, -1), 1, 2)
    return Found(work.value[:n].copy(), work.row[:n].copy(), work.bias[:n].copy(), 0.5 * whole)


def speeds_of(case: Case, seed: int) -> Array:
    """(n_v,) - some speeds."""
    return np.random.default_rng([seed, 3]).normal(size=case.some.n_v)


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_are_the_differences_of_slow_lengths(seed: int) -> None:
    """Protects held lengths: straight, over points that come, go and move, over a sphere and a cylinder."""
    case = random_case(seed)
    tree, q, v = case.tree, case.some.q, speeds_of(case, seed)
    own = [m for m in range(case.n_muscle) if m != OVER_TWO]

    def lengths(at: Array) -> Array:
        return muscle_path.lengths(tree, case.stations, case.surfaces, at, muscles=own)

    found = found_at(case, q, v)
    np.testing.assert_allclose(found.value[own], lengths(q) - 0.1, atol=1e-13)
    np.testing.assert_allclose(found.row[own], first_derivative(lengths, tree, q), atol=1e-8)
    np.testing.assert_allclose(found.bias[own], second_along_finer(lengths, tree, q, v), atol=2e-6)
    for u in random_directions(np.random.default_rng(seed), tree, 8):
        second = second_along_finer(lengths, tree, q, u)
        np.testing.assert_allclose(found.curvature[own] @ u @ u, second, atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_over_ellipsoids_and_several_surfaces_are_the_differences_of_the_length(seed: int) -> None:
    """Protects held lengths over ellipsoids and over two surfaces, beside differences of the length alone."""
    case = random_case(seed)
    size = case.surfaces.size[:, :1] * [1.0, 1.1, 0.9]
    eggs = case.surfaces._replace(kind=np.full(len(size), ELLIPSOID), size=size)
    case = case._replace(surfaces=eggs)
    tree, q, v = case.tree, case.some.q, speeds_of(case, seed)
    bent = constraints_of(case).elements.lengths
    work, target = new_length_work(bent, tree), np.zeros(case.n_muscle)

    def lengths(at: Array) -> Array:
        out = np.zeros(case.n_muscle)
        path_lengths(tree, bent, at, target, work, out)
        return out

    found = found_at(case, q, v)
    assert work is not None
    lengths(q)
    assert work.here.wrap.touching.sum() >= 3
    np.testing.assert_allclose(found.row, first_derivative(lengths, tree, q), atol=1e-8)
    np.testing.assert_allclose(found.bias, second_along_finer(lengths, tree, q, v), atol=2e-6)
    for u in random_directions(np.random.default_rng(seed), tree, 8):
        second = second_along_finer(lengths, tree, q, u)
        np.testing.assert_allclose(found.curvature @ u @ u, second, atol=2e-6)


def test_dofs_off_a_path_have_no_part_in_it() -> None:
    """Protects the table of dofs: rows and curvature are zero elsewhere, and of a path on ground."""
    case = random_case(1)
    found, elements = found_at(case, case.some.q, speeds_of(case, 1)), constraints_of(case).elements
    for e in range(case.n_muscle):
        off = np.ones(case.some.n_v, bool)
        off[elements.path[e, : elements.n_path[e]]] = False
        np.testing.assert_array_equal(found.row[e, off], 0.0)
        np.testing.assert_array_equal(found.curvature[e][off], 0.0)
    assert not found.row[-1].any()
    assert found.bias[-1] == 0.0


def test_a_path_that_is_not_found_has_no_number() -> None:
    """Protects fits: a point inside its surface is no length, not a wrong one."""
    case = random_case(0)
    size = 40.0 * case.surfaces.size
    found = found_at(
        case._replace(surfaces=case.surfaces._replace(size=size)), case.some.q, speeds_of(case, 0)
    )
    assert np.isnan(found.value[3])
    assert np.isfinite(found.value[0])


def test_a_pose_at_rest_has_no_bias() -> None:
    """Protects the step of the differences from a division by no speed."""
    case = random_case(2)
    assert not found_at(case, case.some.q, np.zeros(case.some.n_v)).bias.any()
