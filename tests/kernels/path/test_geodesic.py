"""Geodesics: order of the integrator, invariants, Jacobi fields and curvatures against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.path import geodesic, surfaces
from kernels.path.surfaces import CYLINDER, ELLIPSOID, SPHERE
from tests.naive import geodesics

Array = NDArray[np.floating]

SHAPES = [(SPHERE, [0.03] * 3), (CYLINDER, [0.03] * 3), (ELLIPSOID, [0.03, 0.02, 0.05])]
EVERY_SHAPE = pytest.mark.parametrize(("kind", "axes"), SHAPES)


def start(kind: int, size: Array, seed: int) -> tuple[Array, Array]:
    """Return a random point of the surface and a unit tangent there."""
    rng = np.random.default_rng(seed)
    d = np.where(np.isfinite(geodesics.half_axes(kind, size)), geodesics.half_axes(kind, size), 0.0)
    y = rng.normal(size=3)
    y /= np.linalg.norm(y[d > 0.0])
    x = np.where(d > 0.0, d * y, 0.02)
    t = np.cross(geodesics.normal(kind, size, x), rng.normal(size=3))
    return x, t / np.linalg.norm(t)


def flow(kind: int, size: Array, x: Array, t: Array, s: float) -> tuple[Array, Array, tuple]:
    """Return end, direction and fields of a geodesic."""
    x_out, t_out = np.zeros(3), np.zeros(3)
    fields = geodesic.flow(kind, size, x, t, s, x_out, t_out)
    return x_out, t_out, fields


def test_integrator_has_order_eight() -> None:
    """Protects the tableau: halving the step on a circle divides the error of a step by about 2^9."""
    shape = (1.0, 1.0, 1.0, 1.0, 1.0)
    errors = []
    for h in (1.6, 0.8, 0.4):
        x, v = geodesic.step(shape, h, (1.0, 0.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 0.0, 1.0))
        c, s = math.cos(h), math.sin(h)
        errors.append(np.abs(np.subtract((*x, *v), (c, s, 0.0, c, s, -s, c, 0.0, -s, c))).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders[-1] == pytest.approx(9.0, abs=0.4)


@EVERY_SHAPE
@pytest.mark.parametrize("seed", range(4))
def test_flow_is_that_of_the_twin(kind: int, axes: list[float], seed: int) -> None:
    """Protects end and direction of geodesics, 2 radians long."""
    size = np.array(axes)
    x, t = start(kind, size, seed)
    end, along, _ = flow(kind, size, x, t, 0.06)
    expected = geodesics.geodesic(kind, size, x, t, 0.06)
    np.testing.assert_allclose(end, expected[0], atol=1e-10)
    np.testing.assert_allclose(along, expected[1], atol=3e-9)


@EVERY_SHAPE
@pytest.mark.parametrize("seed", range(4))
def test_there_and_back(kind: int, axes: list[float], seed: int) -> None:
    """Protects against drift: the way back ends at the start, on the surface."""
    size = np.array(axes)
    x, t = start(kind, size, seed)
    end, along, _ = flow(kind, size, x, t, 0.08)
    back, against, _ = flow(kind, size, end, -along, 0.08)
    np.testing.assert_allclose(back, x, atol=1e-10 * 0.03)
    np.testing.assert_allclose(against, -t, atol=1e-9)
    assert geodesics.height(kind, size, end[None])[0] == pytest.approx(0.0, abs=1e-14)


@EVERY_SHAPE
@pytest.mark.parametrize("seed", range(4))
def test_fields_are_differences_of_neighbours(kind: int, axes: list[float], seed: int) -> None:
    """Protects a, a', r, r': neighbours started aside, or turned, part by them."""
    size, h, s = np.array(axes), 1e-6, 0.05
    x, t = start(kind, size, seed)
    n = geodesics.normal(kind, size, x)
    b = np.cross(n, t)
    end, along, (a, a_rate, r, r_rate) = flow(kind, size, x, t, s)
    aside = np.cross(geodesics.normal(kind, size, end), along)
    turned = [flow(kind, size, x, math.cos(u) * t + math.sin(u) * b, s) for u in (h, -h)]
    assert (turned[0][0] - turned[1][0]) @ aside / (2 * h) == pytest.approx(r, abs=1e-8)
    assert (turned[0][1] - turned[1][1]) @ aside / (2 * h) == pytest.approx(r_rate, abs=1e-6)
    moved = []
    for u in (0.03 * h, -0.03 * h):
        y, side = geodesics.geodesic(kind, size, x, math.copysign(1.0, u) * b, abs(u))
        ahead = -math.copysign(1.0, u) * np.cross(geodesics.normal(kind, size, y), side)
        moved.append(flow(kind, size, y, ahead, s))
    assert (moved[0][0] - moved[1][0]) @ aside / (0.06 * h) == pytest.approx(a, abs=1e-6)
    assert (moved[0][1] - moved[1][1]) @ aside / (0.06 * h) == pytest.approx(a_rate, abs=1e-4)


@EVERY_SHAPE
@pytest.mark.parametrize("seed", range(4))
def test_curvatures_are_differences_of_the_normal(kind: int, axes: list[float], seed: int) -> None:
    """Protects curvatures and torsion, and the normal itself."""
    size, h = np.array(axes), 1e-7
    x, t = start(kind, size, seed)
    n = np.zeros(3)
    surfaces.normal(kind, size, x, n)
    np.testing.assert_allclose(n, geodesics.normal(kind, size, x), atol=1e-15)
    b = np.cross(n, t)
    found = surfaces.curvatures(kind, size, x, t, b)
    along, aside = (
        (geodesics.normal(kind, size, x + h * d) - geodesics.normal(kind, size, x - h * d)) / (2 * h)
        for d in (t, b)
    )
    np.testing.assert_allclose(found, (along @ t, along @ b, aside @ b), atol=1e-6)
    assert along @ b == pytest.approx(aside @ t, abs=1e-6)
