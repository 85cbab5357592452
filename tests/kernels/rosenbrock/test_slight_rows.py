"""Closed mechanisms whose axes or places are rounded: rows that are only rounding hold nothing."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from kernels.dynamics.constrained import constrained_dynamics
from kernels.dynamics.constraints import constraint_rows, factor_rows, new_constraint_work
from kernels.dynamics.system import new_dynamics_work
from kernels.joints.tree import new_pose, pose
from kernels.markers.marker_cost import ModelMarkers
from kernels.solver.constraints import DISTANCE, Roles, element_values
from kernels.solver.kkt import CONVERGED
from kernels.solver.levers import SLIGHT, lever_of
from kernels.solver.optimality import FrameProblem
from rtsim.errors import ModelError
from tests.kernels.problems import solved
from tests.kernels.rosenbrock.loops import FOUR_BAR
from tests.kernels.rosenbrock.mechanisms import run, simulator
from tests.naive.constrained import element_ends
from tests.naive.markers import model_markers
from tests.naive.mechanisms import moved, posed

Array = NDArray[np.float64]

AXIS = 'axis = "w"'
DURATION, N = 0.1, 100
WITH_WEIGHT = FOUR_BAR.replace('hold = ["crank"]\nspeeds = { crank = 400.0 }', 'hold = ["crank"]')
"""The four bars let go at rest."""
LENGTHS, ROD = (0.1, 0.25, 0.18), 0.2
"""Of crank, link and rocker, and of the ground between their axes [m]."""
MASS, CENTRE, INERTIA = (0.4, 0.8, 0.6), (0.05, 0.125, 0.09), (4e-4, 4e-3, 2e-3)
GRAVITY = 9.81


def tilted(text: str, *tilts: float) -> str:
    """Return a model whose first joints turn about axes that are off theirs by so much."""
    for tilt in tilts:
        text = text.replace(AXIS, f"axis = [{tilt!r}, 0.0, 1.0]", 1)
    return text


def offset(text: str, by_mm: float) -> str:
    """Return the four bars whose rocker is pinned beside the plane of the others."""
    return text.replace("offset_mm = [180.0, 0.0, 0.0]", f"offset_mm = [180.0, 0.0, {by_mm!r}]", 1)


def again(text: str, beside_mm: float) -> str:
    """Return the four bars with their pin written twice, the second one beside the first."""
    first = text.index("[[elements]]")
    last = text.index("[simulation]")
    twin = text[first:last].replace('"loop"', '"again"').replace("[250.0,", f"[{250.0 + beside_mm!r},")
    return text[:last] + twin.replace("[180.0,", f"[{180.0 + beside_mm!r},") + text[last:]


def other_units(text: str, scale: float) -> str:
    """Return a model whose lengths are written in another unit, gravity and inertias likewise."""

    def scaled(found: re.Match[str], factor: float) -> str:
        return found[1] + ", ".join(repr(float(x) * factor) for x in found[2].split(",")) + "]"

    text = re.sub(r"(mm = \[)([^\]]*)\]", lambda m: scaled(m, scale), text)
    text = re.sub(r"(kg_m2 = \[)([^\]]*)\]", lambda m: scaled(m, scale * scale), text)
    gravity = f"gravity_m_s2 = [0.0, {-GRAVITY * scale}, 0.0]"
    return text.replace('source = "test"', f'source = "test"\n{gravity}')


def pose_of_bars(crank: float, near: tuple[float, float]) -> tuple[float, float]:
    """Return the angles of link and rocker against ground [rad] that close the loop, near those given."""
    a, b, c = LENGTHS
    tip = a * np.array([math.cos(crank), math.sin(crank)])

    def lacking(rocker: float) -> float:
        end = np.array([ROD + c * math.cos(rocker), c * math.sin(rocker)])
        return float(np.hypot(*(end - tip))) - b

    rocker = brentq(lacking, near[1] - 0.2, near[1] + 0.2, xtol=1e-15)
    end = np.array([ROD + c * math.cos(rocker), c * math.sin(rocker)]) - tip
    return math.atan2(end[1], end[0]), rocker


def slopes_of_bars(crank: float, link: float, rocker: float) -> tuple[float, float]:
    """Return d link/d crank and d rocker/d crank of the closed loop."""
    a, b, c = LENGTHS
    A = np.array([[-b * math.sin(link), c * math.sin(rocker)], [b * math.cos(link), -c * math.cos(rocker)]])
    return tuple(np.linalg.solve(A, [a * math.sin(crank), -a * math.cos(crank)]))


def lagrange(duration: float, speed: float, at: tuple[float, float, float]) -> Array:
    """Return crank, link and rocker after a time, from Lagrange's equation in the crank alone.

    m(x) x'' + m'(x) x'^2 / 2 + V'(x) = 0; the angles against ground are of the closed loop.
    """
    near = [at[1], at[2]]

    def angles(x: float) -> tuple[float, float]:
        return pose_of_bars(x, (near[0], near[1]))

    def energy(x: float) -> tuple[float, float]:
        link, rocker = angles(x)
        by_link, by_rocker = slopes_of_bars(x, link, rocker)
        a, rates = LENGTHS[0], (1.0, by_link, by_rocker)
        v = a * np.array([-math.sin(x), math.cos(x)])
        v = v + CENTRE[1] * by_link * np.array([-math.sin(link), math.cos(link)])
        m = MASS[1] * float(v @ v)
        for k in (0, 2):
            m += MASS[k] * (CENTRE[k] * rates[k]) ** 2
        m += sum(J * r * r for J, r in zip(INERTIA, rates, strict=True))
        heights = (
            CENTRE[0] * math.sin(x),
            a * math.sin(x) + CENTRE[1] * math.sin(link),
            CENTRE[2] * math.sin(rocker),
        )
        return m, GRAVITY * sum(w * h for w, h in zip(MASS, heights, strict=True))

    def rate(t: float, y: Array) -> list[float]:
        x, e = float(y[0]), 1e-4
        near[:] = angles(x)
        (m1, V1), (m2, V2), (m3, V3), (m4, V4) = (energy(x + k * e) for k in (-2, -1, 1, 2))
        dm, dV = (
            (p - 8.0 * q + 8.0 * r - s) / (12.0 * e) for p, q, r, s in ((m1, m2, m3, m4), (V1, V2, V3, V4))
        )
        return [float(y[1]), -(0.5 * dm * float(y[1]) ** 2 + dV) / energy(x)[0]]

    done = solve_ivp(rate, (0.0, duration), [at[0], speed], method="DOP853", rtol=1e-12, atol=1e-12)
    x = float(done.y[0, -1])
    link, rocker = angles(x)
    return np.array([x, link - x, rocker])


def after(text: str, n: int = N) -> Array:
    """Return the coordinates after a run."""
    return run(text, n, DURATION, method="rodas4p").q


def test_the_plain_mechanism_is_that_of_lagrange() -> None:
    """Protects what the others are compared with: the bars move as one equation in the crank says."""
    for text, speed in ((FOUR_BAR, math.radians(400.0)), (WITH_WEIGHT, 0.0)):
        start = simulator(text).q
        at = (start[0], start[0] + start[1], start[2])
        np.testing.assert_allclose(after(text), lagrange(DURATION, speed, at), rtol=0, atol=2e-8)


@pytest.mark.parametrize("text", [FOUR_BAR, WITH_WEIGHT])
@pytest.mark.parametrize("tilt", [1e-15, 1e-12, 1.7e-9, 2.7e-8, 4e-7, 1.5e-6])
def test_a_rounded_axis_freezes_nothing(text: str, tilt: float) -> None:
    """Protects mechanisms with an axis of seven digits: they move as with the exact one, whatever is off."""
    some = run(tilted(text, tilt), N, DURATION, method="rodas4p")
    np.testing.assert_allclose(some.q, after(text), rtol=0, atol=1e-9)
    assert some.met.left_out == ("loop.z",)
    assert not some.met.slight


@pytest.mark.parametrize("change", [
    lambda text, e: tilted(text, e, -2.0 * e, 0.5 * e),  # every axis another one
    lambda text, e: tilted(text, 0.0, e),
    lambda text, e: offset(text, 100.0 * e),  # a pin beside the plane
    lambda text, e: again(tilted(text, e), 100.0 * e),  # and its rows nearly twice
    lambda text, e: again(text, 0.0),  # exactly twice
    lambda text, e: other_units(tilted(text, e), 100.0),  # lengths in mm where metres are meant
    lambda text, e: other_units(tilted(text, e), 1e-3),
])  # fmt: skip
@pytest.mark.parametrize("e", [1e-13, 2.7e-8, 6e-7])
def test_relatives_of_a_rounded_axis(change, e: float) -> None:
    """Protects the kind: several axes, places, rows that repeat others nearly, and models in other units."""
    np.testing.assert_allclose(after(change(FOUR_BAR, e)), after(FOUR_BAR), rtol=0, atol=1e-9 + 10.0 * e)


def test_a_row_beyond_rounding_holds_and_is_named() -> None:
    """Protects true constraints, and from silence: a tilt of 1e-4 locks the crank, and the row is told."""
    free = tilted(WITH_WEIGHT, 1e-4).replace('hold = ["crank"]', "")
    start, some = simulator(free).q[0], run(free, 20, 0.02, method="rodas4p")
    assert some.q[0] == pytest.approx(start, abs=1e-9)
    assert list(some.met.slight) == ["loop.z"]
    assert 1e-5 < some.met.slight["loop.z"] < 1e-4
    with pytest.raises(ModelError, match=r"loop\.z"):
        simulator(tilted(WITH_WEIGHT, 1e-4))


@pytest.mark.parametrize("tilt", [1e-12, 2.7e-8])
def test_accelerations_and_couplings_know_rounding_too(tilt: float) -> None:
    """Protects the other readers of the rows: constrained accelerations, and how angles go together."""
    found = []
    for some in (simulator(WITH_WEIGHT), simulator(tilted(WITH_WEIGHT, tilt))):
        system, constraints = some.simulation.system, some.simulation.holds.constraints
        rows = new_constraint_work(constraints, 3)
        work = new_dynamics_work(system.tree, len(rows.value))
        v_dot, multiplier = np.full(3, np.nan), np.full(3, np.nan)
        state = (some.q, np.array([1.0, -2.0, 0.5]), np.zeros(3), np.zeros((3, 6)))
        assert constrained_dynamics(system, constraints, *state, work, rows, v_dot, multiplier) == 0
        assert multiplier[2] == 0.0
        assert math.isinf(rows.kernel[2, 2])
        pose(system.tree, some.q, work.pose)
        n = constraint_rows(system.tree, constraints, work.pose, some.q, rows)
        assert factor_rows(n, rows.row, rows.reach, rows.compliance, rows.kernel) == 1
        found.append(v_dot)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 2.7e-8, 1e-6])
def test_markers_move_a_crank_with_a_rounded_axis(tilt: float) -> None:
    """Protects poses from markers: the crank goes where they are, in a loop that is rounded."""
    plain, some = simulator(FOUR_BAR), simulator(tilted(FOUR_BAR, tilt))
    tree, constraints = some.simulation.system.tree, some.simulation.holds.constraints
    placed = ModelMarkers(np.repeat(np.arange(3), 3), np.tile(0.1 * np.eye(3), (3, 1)))
    start = plain.q.copy()
    plain.run(60, 0, plain.trace(0))
    assert abs(plain.q[0] - start[0]) > 0.2
    measured = model_markers(plain.simulation.system.tree, placed, plain.q)
    roles = Roles(*constraints.roles[:3])
    problem = FrameProblem(
        tree, placed, constraints.elements, roles, measured, np.ones(9), np.zeros(3), start.copy()
    )
    found = solved(problem, start)
    assert found.status == CONVERGED
    np.testing.assert_allclose(found.q, plain.q, rtol=0, atol=1e-8 + 10.0 * tilt)


def test_levers_are_motions_of_the_ends() -> None:
    """Protects what slopes are judged against: the whole motion of an end beside the other body."""
    some = simulator(FOUR_BAR.replace('kind = "point"', 'kind = "distance"\ntarget_mm = 30.0'))
    tree, constraints = some.simulation.system.tree, some.simulation.holds.constraints
    elements, at = constraints.elements, new_pose(3, 3)
    rows = new_constraint_work(constraints, 3)
    pose(tree, some.q, at)
    element_values(elements, at, constraints.roles.target, rows.element)
    assert elements.kind[0] == DISTANCE
    a, b, _ = element_ends(posed(tree, some.q), elements, 0)
    inside = posed(tree, some.q).rotation[elements.body_b[0]].T @ (
        a - posed(tree, some.q).position[elements.body_b[0]]
    )
    square, e = 0.0, 1e-6
    for d in range(3):
        ends = []
        for sign in (-1.0, 1.0):
            there = posed(tree, moved(tree, some.q, sign * e * np.eye(3)[d]))
            beside = there.position[elements.body_b[0]] + there.rotation[elements.body_b[0]] @ inside
            ends.append(element_ends(there, elements, 0)[0] - beside)
        square += float(np.sum(((ends[1] - ends[0]) / (2.0 * e)) ** 2))
    lever = lever_of(elements, at, 0, rows.element)
    assert lever == pytest.approx(4.0 * float((a - b) @ (a - b)) * square, rel=1e-7)
    assert math.sqrt(SLIGHT) == pytest.approx(3.2e-6, rel=0.02)
