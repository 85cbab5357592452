"""Switches over kinds are exhaustive: no kind is taken for another one, and no branch is lost unnoticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.kernels.switch_cases import CASES, PREDICATES
from tests.kernels.switch_sources import FAMILIES, ROOT, kinds_of, switches

QUESTIONS = {
    "is_chain": "only a chain is read off a pose by least squares",
    "is_loose": "only a free joint lets elements alone hold its body",
    "lay_on": "a cylinder has no end along its axis; `quadric` refuses what is no surface",
    "hold_ways": "only a path on a cylinder slips off an end",
    "follow_path": "a wrap is no point; `place_station` refuses what is neither",
    "add_piece": "directions at a wrap are those of its surface",
    "gradient": "a wrap moves with its surface",
    "add_forces": "a wrap feels what its surface does",
    "lengthening_speed": "a wrap moves with its surface",
    "element_row": "the length of a path has rows of its own",
    "element_rows": "the length of a path has rows of its own",
    "hard_row": "the length of a path has no lever",
    "constraint_bias": "the length of a path has a bias of its own",
    "path_motions": "only a plane has a normal that turns; `add_curvature` refuses what has no scale",
    "element_bias": "a distance is held by the difference of two squares",
    "slopes_by": "a distance is held by the difference of two squares",
    "fdk_residual": "a distance is held by the difference of two squares",
    "per_metre": "a distance is held by the difference of two squares",
    "fdk_slopes": "a distance is held by the difference of two squares",
    "press": "a distance is held by the difference of two squares",
    "gap_of": "a distance is held by the difference of two squares",
    "borne": "a distance is held by the difference of two squares",
    "write_gaps": "a distance is held by the difference of two squares",
}
"""Kernels that ask whether a kind is one certain kind, and why that is enough: all others are alike there."""
MOST_QUESTIONS = 23


@pytest.fixture(scope="module")
def findings() -> dict[str, Any]:
    """What a process with the compiler off found."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.kernels.switch_cases"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_comparison_of_kinds_is_in_the_table() -> None:
    """Protects these tests: a new switch is run with every kind, or says why it need not be."""
    found = {switch.name for switch in switches()}
    cases = {name for family in CASES.values() for name in family}
    assert found - cases - set(PREDICATES) - set(QUESTIONS) == set()
    assert set(QUESTIONS) - found == set()
    assert len(QUESTIONS) <= MOST_QUESTIONS
    assert set(CASES) == set(FAMILIES)


def test_every_kind_goes_through_every_switch(findings: dict[str, Any]) -> None:
    """Protects results: a kind that some switch has no branch for is found here, not in a wrong answer."""
    assert findings["refused"] == []


def test_what_is_no_kind_gives_nan(findings: dict[str, Any]) -> None:
    """Protects results: no switch takes a number that it does not know for one of its kinds."""
    assert findings["taken"] == []


def test_no_branch_can_be_lost_unnoticed(findings: dict[str, Any]) -> None:
    """Protects these tests: without any one branch of any switch, a kind is refused."""
    assert findings["unnoticed"] == []
    assert findings["tried"] > 100


def test_kinds_are_read_from_their_lines() -> None:
    """Protects these tests: what is read are the kinds in the order of their numbers."""
    assert kinds_of("joint")[:3] == ("WELD", "HINGE", "SLIDER")
    assert all(len(kinds_of(family)) > 1 for family in FAMILIES)
