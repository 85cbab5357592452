"""Runs of paper 003 on the published cycle, against its reference solution and the slow twin."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rtsim.papers.item import ItemInput
from rtsim.papers.paper_003.cycles import cycles_of
from rtsim.papers.paper_003.knee_runs import KneeSolver
from rtsim.papers.paper_003.printed_tables import LIGAMENTS, METHODS
from tests.naive import knee_results, knee_tables, mbo

NAMES_IN_JSON = {"zero": "dL0", "minimised": "dLmin", "prescribed": "dLtheta"}
DATA = ("data", "gait_dumas", "dumas_gait_bsd3.npz")


@pytest.fixture(scope="module")
def solver(shared: Path) -> KneeSolver:
    """Of the published cycle."""
    (cycle,) = cycles_of(ItemInput(shared.joinpath(*DATA)))
    return KneeSolver(cycle)


def test_runs_are_the_reference_solution(solver: KneeSolver, shared: Path) -> None:
    """Protects figures 2 and 4 and table 4: targets, angles, lengths and their differences from eq. 1."""
    summary = json.loads((shared / "reference" / "mbo_gait_dumas.json").read_text(encoding="utf-8"))
    arrays = np.load(shared / "reference" / "mbo_gait_dumas_solution.npz")
    neutral = 1e3 * knee_tables.neutral_lengths()
    for name in LIGAMENTS:
        assert solver.mean_lengths_mm[name] == pytest.approx(summary["exp_mean_lengths_mm"][name], abs=1e-6)
    asked = solver.run("zero").experimental
    for method in METHODS:
        run = solver.run(method)
        np.testing.assert_allclose(run.angles, arrays[f"{method}_angles_deg"], atol=1e-5)
        lengths = (1.0 + 0.01 * run.lengthening) * neutral
        np.testing.assert_allclose(lengths, arrays[f"{method}_lengths_mm"], atol=1e-5)
        percent = np.sqrt(np.mean((run.lengthening - asked) ** 2, axis=0))
        expected = summary["methods"][NAMES_IN_JSON[method]]["rms_pct_vs_experimental"]
        np.testing.assert_allclose(percent, [expected[name] for name in LIGAMENTS], atol=1e-5)


@pytest.mark.parametrize("weights", [(1.0, 1e2, 1e4, 1e3), (1e4, 1.0, 1.0, 1.0)])
def test_other_weights_are_the_twins(solver: KneeSolver, shared: Path, weights: tuple[float, ...]) -> None:
    """Protects the sweeps: the slow twin with these weights has the same knee, angles, displacements, lengths
    and contact points."""
    data = np.load(shared.joinpath(*DATA))
    some = slice(0, 131, 26)
    Q = np.hstack([data[f"{segment}_Q"] for segment in mbo.SEGMENTS])
    markers = tuple(np.swapaxes(data[f"{segment}_rM"], 1, 2) for segment in mbo.SEGMENTS)
    leg = mbo.leg_from_measurements(Q, markers)._replace(normals=knee_tables.PRINTED_PLATEAU_NORMALS)
    measured = np.concatenate(markers, axis=1)[some]
    zero = mbo.solve_zero(leg, Q[some], measured)
    lengths = 1e-3 * np.array([solver.mean_lengths_mm[name] for name in LIGAMENTS])
    targets = np.tile(lengths, (len(measured), 1))
    twin = mbo.solve_deformable(leg, zero.Q, measured, targets, np.array(weights))
    run = solver.run("minimised", dict(zip(LIGAMENTS, weights, strict=True)))
    expected = [
        (
            np.degrees(knee_results.knee_angles(Q)),
            1e3 * knee_results.knee_displacements(Q),
            100.0 * knee_results.ligament_lengthening(Q),
        )
        for Q in twin.Q
    ]
    angles, displacements, lengthening = (np.array(column) for column in zip(*expected, strict=True))
    np.testing.assert_allclose(run.angles[some], angles, atol=1e-5)
    np.testing.assert_allclose(run.displacements[some], displacements, atol=1e-5)
    np.testing.assert_allclose(run.lengthening[some], lengthening, atol=1e-5)
