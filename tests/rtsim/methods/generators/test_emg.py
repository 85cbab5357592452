"""EMG over time beside a motion: which tables cover it."""

from __future__ import annotations

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.tables.storage import Table
from rtsim.methods.generators.emg import at_frames

TIMES = np.delete(np.linspace(0.0, 2.0, 201), slice(60, 130))
"""Frames of a motion, of which 0.7 s in the middle are not known."""


def table(first: float, last: float) -> Table:
    """A table of one muscle between two times [s]."""
    own = np.linspace(first, last, 500)
    return Table(("time", "knee"), np.column_stack([own, own]), False, "emg")


def test_a_table_must_cover_a_motion_with_a_gap() -> None:
    """Protects from EMG that goes on at its last value for as long as the longest gap of the motion lasts."""
    for first, last in ((0.0, 1.5), (0.5, 2.0)):
        with pytest.raises(ConfigError, match="the table of EMG lasts from"):
            at_frames(table(first, last), "emg.sto", ["knee"], TIMES)


def test_a_table_may_end_a_frame_before_the_motion() -> None:
    """Protects tables of other rates, whose last row is not at the last frame."""
    found = at_frames(table(0.005, 1.995), "emg.sto", ["knee"], TIMES)
    np.testing.assert_allclose(found["knee"], np.clip(TIMES, 0.005, 1.995))
    alone = at_frames(table(0.0, 2.0), "emg.sto", ["knee"], TIMES[:1])
    np.testing.assert_allclose(alone["knee"], TIMES[:1])
