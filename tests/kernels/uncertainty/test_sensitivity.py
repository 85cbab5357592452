"""Speeds of the optimum beside a solution of the same equations in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.uncertainty.sensitivity import stand_with_targets, velocity
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from tests.kernels.fdk.test_angles import PLANE, moving, text
from tests.rtsim.models.small_models import read

pytestmark = pytest.mark.own_kernels

Array = NDArray[np.float64]


def exactly(H: Array, A: Array, f: Array) -> Array:
    """(n,) - x of H x + A'b = f, A x = 0, without rounding."""
    n, m = len(H), len(A)
    K = np.block([[H, A.T], [A, np.zeros((m, m))]])
    rows = [[Fraction(y) for y in (*row, z)] for row, z in zip(K, (*f, *np.zeros(m)), strict=True)]
    for j in range(n + m):
        p = max(range(j, n + m), key=lambda i: abs(rows[i][j]))
        rows[j], rows[p] = rows[p], rows[j]
        for i in range(n + m):
            if i != j and rows[i][j]:
                part = rows[i][j] / rows[j][j]
                rows[i] = [y - part * z for y, z in zip(rows[i], rows[j], strict=True)]
    return np.array([float(rows[i][-1] / rows[i][i]) for i in range(n)])


@pytest.mark.parametrize(("apart", "most"), [(0.0, 1e-14), (1e-2, 1e-13), (1e-4, 1e-11)])
def test_speeds_are_known_to_rounding(apart: float, most: float) -> None:
    """Protects rates of the optimum, which are differenced over 10 microseconds: with a plane askew to all
    dofs, and one more that repeats it but for an angle.
    """
    twin = PLANE.replace('"more"', '"nearly"').replace("0.1]", f"{0.1 + apart}]")
    held = '"centre", "more"' + (', "nearly"' if apart else "")
    spec = read(text("free", PLANE + twin).replace('hard = ["more"]', f"hard = [{held}]"))
    own = ForceDependentKinematics(
        build(spec, method="more"), roles_of(spec, "more"), FdkSpec(dofs=("more",), velocities="optimum")
    )
    fit, work, answer = own.joint.fit, own.work.fit, own.work.answer
    fit.measured[:] = moving(own)[0]
    fit.weight[:] = 1.0
    n_hard = stand_with_targets(fit, own.q, work, answer.H)
    H = np.tril(answer.H) + np.tril(answer.H, -1).T
    A = work.A[:n_hard].copy()
    f = np.random.default_rng(4).standard_normal(len(H))
    answer.x[:, 0] = f
    velocity(own.model.tree.couplers, n_hard, work, answer)
    x = exactly(H, A, f)
    assert np.abs(answer.x[:, 0] - x).max() < most * np.abs(x).max()
