"""Arms and motion files of a published leg with a kneecap beside OpenSim, as the bench compares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.opensim_peer.opensim_paths import path_figures
from kernels.compiler.jit import allow_compilation
from tests.reference.opensim_peer import quiet


def test_arms_and_motions_of_a_leg_with_a_kneecap(shared: Path) -> None:
    """Protects arms over the whole ranges, and coupled coordinates in files that OpenSim reads."""
    osim = quiet(pytest.importorskip("opensim"))
    allow_compilation()
    found = {figure.name: figure for figure in path_figures(osim, shared / "data/osim_models")}
    assert found["paths.arms"].value > 1000
    for name in ("paths.largest_arm_mm", "coupled.largest_relative"):
        assert found[name].value <= found[name].limit
