"""Values of coordinates in the file that a setup of OpenSim's scale tool names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.osim.setup_scale import Placer
from rtsim.files.osim.tasks import IkTasks
from rtsim.methods.kinematics.scaling import of_file

HEAD = "pose\ninDegrees=yes\nendheader\ntime\tknee\thip\n"
TRIAL = MarkerTrial(("a",), np.array([0.5]), np.zeros((1, 1, 3)), 100.0, "made up")


def placer(path: Path, text: str) -> Placer:
    """One whose coordinate file holds these rows."""
    path.write_text(HEAD + text, encoding="utf-8")
    return Placer(IkTasks({}, ()), None, path, (np.nan, np.nan), -1.0)


def test_gaps_are_not_between_the_values(tmp_path: Path) -> None:
    """Protects the pose from a gap in the file: values beside it are joined, as elsewhere."""
    found = placer(tmp_path / "pose.mot", "0\t10\t0\n0.4\tnan\t0\n1\t30\t0\n")
    assert of_file(found, "knee", True, TRIAL, {}) == pytest.approx(np.radians(20.0))


def test_a_file_of_other_times_is_told(tmp_path: Path) -> None:
    """Protects the static pose from a value of another time: the nearest is taken, and told; one row is a
    pose."""
    told: dict[str, None] = {}
    found = placer(tmp_path / "pose.mot", "0\t10\t0\n0.4\t30\t0\n")
    assert of_file(found, "knee", True, TRIAL, told) == pytest.approx(np.radians(30.0))
    (note,) = told
    assert "knee has values from 0 to 0.4 s, so the one nearest to 0.5 s is taken" in note
    for rows in ("0\t10\t0\n", "0\t10\t0\n1\t10\t0\n"):
        told.clear()
        assert of_file(placer(tmp_path / "pose.mot", rows), "knee", True, TRIAL, told) > 0.0
        assert not told


@pytest.mark.parametrize("rows", ["", "0\tnan\t1\n1\t\t1\n"])
def test_a_column_without_a_number_is_one_sentence(tmp_path: Path, rows: str) -> None:
    """Protects who gives a file that was cut, or whose column is empty: named, with the file."""
    with pytest.raises(ConfigError, match="'knee' contains no number"):
        of_file(placer(tmp_path / "pose.mot", rows), "knee", True, TRIAL, {})


def test_a_file_of_simm_is_in_degrees_and_told(tmp_path: Path) -> None:
    """Protects the static pose from a knee of 10 rad: what the file leaves open is told, once."""
    found = placer(tmp_path / "pose.mot", "0\t10\t0\n1\t10\t0\n")
    found.coordinate_file.write_text(found.coordinate_file.read_text().replace("inDegrees=yes\n", ""))
    told: dict[str, None] = {}
    for _ in range(2):
        assert of_file(found, "knee", True, TRIAL, told) == pytest.approx(np.radians(10.0))
    (note,) = told
    assert "rotations were read as degrees" in note
