"""The bench of marker sets: its made-up device, its refusal, and one recording."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rtsim.bench.markers import marker_sets
from rtsim.errors import ConfigError


def test_a_folder_without_recordings_is_told(tmp_path: Path) -> None:
    """Protects from an empty report with success."""
    with pytest.raises(
        ConfigError, match=r"none of the 7 recordings was found; the first one is gait_pycgm/Static_trial.c3d"
    ):
        marker_sets.run(tmp_path)


def test_the_made_up_device() -> None:
    """Protects the bench's own geometry: a rotation that is set comes back."""
    assert marker_sets.device_off() < 1e-9


def test_one_recording(shared: Path, tmp_path: Path) -> None:
    """Protects the figures that are asked for, on the shortest static trial."""
    name = "gait_mcgill/HC002D_static.c3d"
    if not (shared / "data" / name).is_file():
        pytest.skip(f"{name} is not there")
    (tmp_path / "gait_mcgill").mkdir()
    shutil.copy(shared / "data" / name, tmp_path / name)
    figures = {figure.name: figure for figure in marker_sets.run(tmp_path)}
    assert all(figures[key].holds for key in ("centre_mm", "angle_deg", "offset_deg", "kad_deg"))
    assert 0.0 < figures["marker_rms_mm.HC002D_static"].value < 10.0
