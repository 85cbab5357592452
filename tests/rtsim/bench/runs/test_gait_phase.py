"""`rtsim bench gait-phase`: recordings by markers alone against their plates, sides exchanged or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtsim.bench.markers.recordings import RECORDINGS
from rtsim.bench.runs.gait_phase import LIMIT_RECORDED, recorded, solved


@pytest.mark.parametrize("name", ["bmc.walk1", "lenhart.walk"])
def test_recordings_are_within_their_bound(name: str, shared: Path) -> None:
    """Protects what is promised of real walks, and a recording whose labels of both sides are exchanged."""
    figures = {figure.name: figure for figure in recorded(name, shared / "data", RECORDINGS[name])}
    assert figures[f"error_percent.{name}"].value <= LIMIT_RECORDED
    assert figures[f"told_percent.{name}"].value > 50.0


def test_strikes_are_those_of_the_plates(shared: Path) -> None:
    """Protects what errors are held against: times at which plates begin to bear, by side of the body."""
    _, (right, left) = solved(shared / "data", RECORDINGS["lenhart.walk"])
    assert right == pytest.approx([1.263], abs=0.006)
    assert left == pytest.approx([0.741, 1.788], abs=0.006)
