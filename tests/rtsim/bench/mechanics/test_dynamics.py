"""The bench of the dynamics: its figures, with and without the peer, and the body it is taken on."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kernels.joints.tree import new_pose, pose
from rtsim.bench.mechanics import dynamics
from rtsim.bench.mechanics.humanoid import WEIGHT, humanoid

NAMES = ("rnea", "aba", "crba", "jacobians")


def test_figures_of_a_short_bench():
    """Protects the bench itself: every figure is there and finite, and both systems agree."""
    pytest.importorskip("pinocchio")
    figures = {f.name: f for f in dynamics.run(n_batch=3, n_repeat=2)}
    assert figures["n_v"].value == 34
    for name in NAMES:
        for figure in (f"{name}_us", f"{name}_us.p99", f"pinocchio_{name}_us", f"ratio_{name}"):
            assert np.isfinite(figures[figure].value)
            assert figures[figure].value > 0.0
    assert figures["agreement"].holds


def test_a_bench_without_the_peer(monkeypatch, capsys):
    """Protects users without Pinocchio: our own figures, and a word that nothing was compared."""
    monkeypatch.setitem(sys.modules, "rtsim.bench.mechanics.pinocchio_mirror", None)
    figures = {f.name: f.value for f in dynamics.run(n_batch=3, n_repeat=2)}
    assert figures["pinocchio_compared"] == 0.0
    assert all(np.isfinite(figures[f"{name}_us"]) for name in NAMES)
    assert not any(name.startswith("ratio") for name in figures)
    assert "no comparison with Pinocchio" in capsys.readouterr().err


def test_the_body_of_the_bench_is_a_man():
    """Protects the tables: whole weight, mass in the middle plane above the hips, soles below."""
    system = humanoid()
    tree, bodies = system.tree, system.bodies
    assert bodies.mass.sum() == pytest.approx(WEIGHT)
    placed = new_pose(len(tree.parent), len(tree.dof_body))
    q = np.zeros(35)
    q[3] = 1.0
    pose(tree, q, placed)
    places = placed.position + np.einsum("bij,bj->bi", placed.rotation, bodies.centre)
    whole = bodies.mass @ places / WEIGHT
    assert whole[2] == pytest.approx(0.0, abs=1e-15)
    assert 0.0 < whole[1] < 0.2
    assert places[:, 1].min() == pytest.approx(-(0.4222 + 0.4340))
