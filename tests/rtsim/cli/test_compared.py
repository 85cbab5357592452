"""`rtsim analyse --compare`: tables whose columns stand apart, with the names that the documentation has."""

from __future__ import annotations

import re

import pytest


@pytest.mark.own_kernels
def test_columns_are_apart_and_axes_are_named(here) -> None:
    """Protects who reads the tables of Andersen et al. (2017): AP, SI, ML, and no two numbers in one."""
    done = here("analyse", "jaw:chewing", "--run", "mandible", "--compare")
    assert done.code == 0, done.err
    rows = [line for line in done.out.splitlines() if line.startswith(("left ", "right "))]
    assert len(rows) == 18
    assert {tuple(line.split()[:2]) for line in rows} == {
        (side, axis) for side in ("left", "right") for axis in ("AP", "SI", "ML")
    }
    for line in rows:
        cells = re.split(r"\s{2,}", line.strip())
        assert len(cells) == 5
        assert all(re.fullmatch(r"\S+ \(\S+\)", cell) for cell in cells[1:])
    assert "AP, SI, ML: along x (forwards), y (up) and z (to the right)" in done.out
