"""The bench of gait events."""

from __future__ import annotations

import pytest

from rtsim.bench.runs.gait_events import compared, rms, run
from rtsim.errors import ConfigError
from rtsim.files.gait.events import OFF, STRIKE
from tests.rtsim.methods.gait.test_cycles import walk


def test_markers_are_held_against_plates() -> None:
    """Protects the figures: how many events plates tell, how many of them markers do, and how far off."""
    off: dict[str, list[float]] = {STRIKE: [], OFF: []}
    figures = {figure.name: figure.value for figure in compared("made_up", walk(loads=True), off)}
    assert figures["on_plates.foot_strike.made_up"] == 4
    assert figures["without_marker_event.foot_strike.made_up"] == 0
    assert figures["rms_ms.foot_strike.made_up"] == pytest.approx(rms(off[STRIKE]))
    assert len(off[STRIKE]) == 4


def test_a_folder_without_walks_is_refused(tmp_path) -> None:
    """Protects from figures of nothing."""
    with pytest.raises(ConfigError, match="none of the"):
        run(tmp_path)
