"""Words about a marker under the pointer."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("PySide6")

from rtsim.monitor.pose.legend import marker_words


def test_a_marker_is_told_with_what_is_wrong():
    """Protects the reader: distance, weight and fault as far as there are, and what no fault is."""
    data = {
        "marker_residuals": np.array([0.0087, math.nan, 0.04, 0.04]),
        "marker_weights": np.array([1.0, 0.0, 0.0, 1.0]),
        "marker_gap_age": np.array([0.0, 0.25, 0.0, 0.0]),
        "marker_fault": np.array([0.0, 0.0, 2.0, math.nan]),
    }
    assert [marker_words("RKNE", data, k) for k in range(4)] == [
        "RKNE, 8.7 mm from the model, weight 1",
        "RKNE, occluded for 0.25 s, weight 0",
        "RKNE, 40.0 mm from the model, weight 0, suspect: frozen",
        "RKNE, 40.0 mm from the model, weight 1",
    ]
