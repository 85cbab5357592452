"""The table of the curves in view: its times, its rows, and what it tells of a frame."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.gait.events import GaitEvent
from rtsim.files.gait.marks import MARKED
from rtsim.monitor.panels import PlotPanel
from rtsim.monitor.plots.history import Quality, Window
from rtsim.monitor.saving.export import write_table

PANEL = PlotPanel(
    title="Knee", quantity="angle", unit="°", names=("flexion",), first=0, column=0, extent_least=1.0,
    from_zero=False,
)  # fmt: skip


def window_of(in_trial: list[float], quality: list[Quality]) -> Window:
    """A window with a sample each 10 ms, whose values count them."""
    n = len(in_trial)
    return Window(
        time=0.01 * np.arange(n),
        values=np.arange(float(n))[None],
        quality=np.array(quality, np.uint8),
        first=0,
        in_trial=np.array(in_trial),
    )


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file))


def test_times_are_those_of_the_frames(tmp_path: Path) -> None:
    """Protects times in a table of a trial that stands, jumps and goes back: none is computed."""
    times = [5.0, 5.0, 5.01, math.nan, math.nan, 9.0, 0.0, 0.01]
    window = window_of(times, [Quality.GOOD] * len(times))
    mark = GaitEvent(0.035, "", "", "event 1", MARKED)
    assert write_table(tmp_path / "t.csv", [(PANEL, [0])], window, [mark], -math.inf) == 0
    head, *rows = rows_of(tmp_path / "t.csv")
    assert head == ["time [s]", "Knee: flexion [°]", "quality", "events"]
    assert [float(row[0]) for row in rows] == [5.0, 5.0, 5.01, 9.0, 0.0, 0.01]
    assert [float(row[1]) for row in rows] == [0.0, 1.0, 2.0, 5.0, 6.0, 7.0]
    assert [row[-1] for row in rows] == ["", "", "", "event 1", "", ""]


def test_the_quality_of_each_frame_is_told(tmp_path: Path) -> None:
    """Protects who computes from the table: flagged and unusable frames can be left out."""
    write_table(tmp_path / "t.csv", [(PANEL, [0])], window_of([0.0, 0.1, 0.2, 0.3], list(Quality)), [], -1.0)
    assert [row[2] for row in rows_of(tmp_path / "t.csv")[1:]] == ["good", "degraded", "unusable", "missing"]


def test_rows_are_of_one_session(tmp_path: Path) -> None:
    """Protects from a table of two trials: it begins where the newest session in view begins."""
    window = window_of([7.0, 7.01, 0.0, 0.01, 0.02], [Quality.GOOD] * 5)
    mark = GaitEvent(0.01, "", "", "event 1", MARKED)  # at the last frame of the session before
    assert write_table(tmp_path / "t.csv", [(PANEL, [0])], window, [mark], 0.01) == 2
    rows = rows_of(tmp_path / "t.csv")[1:]
    assert [float(row[0]) for row in rows] == [0.0, 0.01, 0.02]
    assert [row[-1] for row in rows] == [""] * 3


def test_without_a_frame_there_is_no_table(tmp_path: Path) -> None:
    """Protects from an empty file of a view that has gaps alone."""
    window = window_of([math.nan] * 2, [Quality.MISSING] * 2)
    with pytest.raises(ConfigError, match="no curves are shown"):
        write_table(tmp_path / "t.csv", [(PANEL, [0])], window, [], -math.inf)
    assert not (tmp_path / "t.csv").exists()
