"""Motions of joints from tables of comma-separated values: units in their headers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.methods.generators.joint_motion import read_csv, read_joint_motion

FIELDS = ("coordinates", "coordinate_speeds", "coordinate_moments")
T = np.linspace(0.0, 1.0, 21)
ANGLE, SPEED, MOMENT = 0.05 * np.sin(T), 0.05 * np.cos(T), 20.0 * T


def written(path: Path, heads: str, *columns: np.ndarray) -> Path:
    """A table with this header."""
    rows = "\n".join(",".join(f"{x:.15g}" for x in row) for row in np.column_stack(columns))
    path.write_text(f"{heads}\n{rows}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("heads", "angle", "speed", "moment"),
    [
        ("time [s],{0}.knee [deg],{1}.knee [deg/s],{2}.knee [N m]", 180.0 / np.pi, 180.0 / np.pi, 1.0),
        ("time [s],{0}.knee [rad],{1}.knee [rad/s],{2}.knee [N m]", 1.0, 1.0, 1.0),
        ("time,{0}.knee,{1}.knee,{2}.knee", 1.0, 1.0, 1.0),
        ("time,knee[deg],{1}.knee,knee_moment [N mm]", 180.0 / np.pi, 1.0, 1e3),
        ("time,knee,{1}.knee [deg/s],knee_moment", 1.0, 180.0 / np.pi, 1.0),
        ("time [s],knee [°],{1}.knee [°/s],knee_moment [Nm]", 180.0 / np.pi, 180.0 / np.pi, 1.0),
        ('time [s],"{0}.knee [rad, m]","{1}.knee [rad/s, m/s]",{2}.knee [N m]', 1.0, 1.0, 1.0),
        ("time [s],knee [degrees],{1}.knee [rad/s],knee_moment [kN m]", 180.0 / np.pi, 1.0, 1e-3),
        ("time [s],knee [rad],{1}.knee [rad/s],knee_moment [N*mm]", 1.0, 1.0, 1e3),
        ("time [seconds],knee [Deg],{1}.knee [deg/sec],knee_moment [N-m]", 180.0 / np.pi, 180.0 / np.pi, 1.0),
        ("time [Sec],knee [º],{1}.knee [rad/sec],knee_moment [N⋅m]", 180.0 / np.pi, 1.0, 1.0),
    ],
)
def test_each_column_has_the_unit_of_its_header(
    tmp_path: Path, heads: str, angle: float, speed: float, moment: float
) -> None:
    """Protects from small angles in degrees that are taken for radians: units as `rtsim analyse` writes them,
    and as other programs spell them."""
    path = written(
        tmp_path / "a.csv", heads.format(*FIELDS), T, angle * ANGLE, speed * SPEED, moment * MOMENT
    )
    motion = read_joint_motion(path, ["knee"])
    for found, value in zip(motion.of("knee"), (ANGLE, SPEED, MOMENT), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ("time [s],knee,{1}.knee,knee_moment [Nm/kg]", r"of the column knee_moment, \[Nm/kg\], is not known"),
        ("time [s],knee,{1}.knee,knee_moment [N/m]", r"\[N/m\], is not known"),
        ("time [s],knee,{1}.knee,knee_moment [N m²]", r"\[N m²\], is not known"),
        ("time [s],knee [rev],{1}.knee,knee_moment", r"of the column knee, \[rev\], is not known"),
        ("time [s],knee,{1}.knee [rpm],knee_moment", r"\[rpm\], is not known"),
        ("time [min],knee,{1}.knee,knee_moment", r"of the column time, \[min\], is not known"),
        ("t [min],knee,{1}.knee,knee_moment", r"of the column t, \[min\], is not known"),
    ],
)
def test_a_unit_that_is_not_known_is_refused(tmp_path: Path, heads: str, said: str) -> None:
    """Protects fits from moments per kilogram, and whatever else, that would be taken for SI units."""
    path = written(tmp_path / "a.csv", heads.format(*FIELDS), T, ANGLE, SPEED, MOMENT)
    with pytest.raises(ConfigError, match=said):
        read_joint_motion(path, ["knee"])


def test_units_of_columns_that_nobody_reads_do_not_matter(tmp_path: Path) -> None:
    """Protects tables with more in them than a motion: activations in percent, powers, status bits."""
    heads = "time [s],status [bits],knee [rad],{1}.knee [rad/s],knee_moment [N m],emg [%],power [W]"
    path = written(tmp_path / "a.csv", heads.format(*FIELDS), T, 0.0 * T, ANGLE, SPEED, MOMENT, T, T)
    motion = read_joint_motion(path, ["knee"])
    np.testing.assert_allclose(motion.of("knee")[2], MOMENT)


def test_times_that_can_hardly_be_seconds_are_told(tmp_path: Path) -> None:
    """Protects speeds from milliseconds in a csv file, as in storage files; stated, they are converted."""
    heads = "{0},knee,knee_moment"
    slow = read_joint_motion(
        written(tmp_path / "a.csv", heads.format("time"), 1e3 * T, ANGLE, MOMENT), ["knee"]
    )
    assert any("were read as seconds" in note for note in slow.notes)
    path = written(tmp_path / "b.csv", heads.format("time [ms]"), 1e3 * T, ANGLE, MOMENT)
    stated = read_joint_motion(path, ["knee"])
    np.testing.assert_allclose(stated.times, T)
    assert not any("were read as seconds" in note for note in stated.notes)


def test_columns_without_a_unit_are_angles_of_the_other_ones(tmp_path: Path) -> None:
    """Protects tables of which some columns state their unit: the others are not converted twice or never."""
    path = written(tmp_path / "a.csv", "time,a [deg],b,c [rad],d [mm]", T, ANGLE, ANGLE, ANGLE, ANGLE)
    table = read_csv(path)
    assert table.in_degrees
    assert table.in_radians == ("a", "c")
    for name, scale in (("a", np.pi / 180.0), ("b", 1.0), ("c", 1.0), ("d", 1e-3)):
        np.testing.assert_allclose(table.column(name), scale * ANGLE, rtol=1e-12, atol=1e-15)


def test_accelerations_are_known_as_programs_spell_them(tmp_path: Path) -> None:
    """Protects columns of accelerations from being refused for the spelling of their square."""
    path = written(tmp_path / "a.csv", "time,a [rad/s2],b [deg/sec²],c [m/s/s]", T, ANGLE, ANGLE, ANGLE)
    for name, scale in (("a", 1.0), ("b", np.pi / 180.0), ("c", 1.0)):
        np.testing.assert_allclose(read_csv(path).column(name), scale * ANGLE, rtol=1e-12, atol=1e-15)


def test_a_repeated_column_is_told(tmp_path: Path) -> None:
    """Protects from a column that nobody knows of: the second of a name has another one, and a note."""
    table = read_csv(written(tmp_path / "a.csv", "time,a,a", T, ANGLE, SPEED))
    assert table.columns == ("time", "a", "a_2")
    assert any("was renamed a_2" in note for note in table.notes)
