"""Natural-coordinate cycles: order of segments, names of markers, errors that name the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.natural import SEGMENTS, read_natural


def arrays(n: int = 6) -> dict[str, Any]:
    """Arrays of a cycle in which every number tells segment, frame and place."""
    content: dict[str, Any] = {}
    for k, (segment, n_marker) in enumerate(zip(SEGMENTS, (3, 4, 3, 4), strict=True)):
        content[f"{segment}_Q"] = 100.0 * k + np.arange(12.0) + np.zeros((n, 1))
        marker = np.arange(n_marker) + np.array([0.0, 0.1, 0.2])[:, None]
        content[f"{segment}_rM"] = 100.0 * k + marker + np.zeros((n, 1, 1))
    return content


def test_order_and_names(tmp_path):
    """Q is foot, shank, thigh, pelvis; markers follow in the same order as (n, n_marker, 3)."""
    path = tmp_path / "a.npz"
    np.savez(path, **arrays())
    trial = read_natural(path)
    assert trial.Q.shape == (6, 48)
    np.testing.assert_array_equal(trial.Q[0, [0, 12, 24, 36]], [0.0, 100.0, 200.0, 300.0])
    assert trial.markers.names == (
        "foot_1", "foot_2", "foot_3", "shank_1", "shank_2", "shank_3", "shank_4",
        "thigh_1", "thigh_2", "thigh_3", "pelvis_1", "pelvis_2", "pelvis_3", "pelvis_4",
    )  # fmt: skip
    np.testing.assert_array_equal(trial.markers.positions[0, 4], [101.0, 101.1, 101.2])
    assert trial.markers.rate == 100.0
    np.testing.assert_allclose(trial.markers.times, np.arange(6) / 100.0)


def test_what_does_not_fit_is_named(tmp_path):
    """A missing array, a wrong shape, a wrong type, another file: each says which."""
    path = tmp_path / "a.npz"
    cases = (
        ("thigh_Q", None, "thigh_Q"),
        ("shank_rM", np.zeros((5, 3, 4)), r"shank_rM has shape \(5, 3, 4\)"),
        ("foot_Q", np.zeros((0, 12)), "foot_Q"),
        ("pelvis_Q", np.zeros((6, 12), dtype=int), "int"),
    )
    for name, value, said in cases:
        content = arrays()
        if value is None:
            del content[name]
        else:
            content[name] = value
        np.savez(path, **content)
        with pytest.raises(ConfigError, match=said):
            read_natural(path)
    path.write_text("no zip")
    with pytest.raises(ConfigError, match=r"not an \.npz"):
        read_natural(path)
    with pytest.raises(ConfigError, match="no such file"):
        read_natural(tmp_path / "none.npz")


def test_nothing_is_unpickled(tmp_path):
    """Object arrays, which would run code when loaded, are refused."""
    path = tmp_path / "a.npz"
    np.savez(path, foot_Q=np.array([{}], dtype=object))
    with pytest.raises(ConfigError, match=r"not an \.npz"):
        read_natural(path)
