"""Norms from .gcd and csv files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.norms.foreign import read_foreign

AT = np.linspace(0.0, 100.0, 51)


def gcd(rows: int = 51, cells: int = 2) -> str:
    """A file of norms with two angles and a moment."""
    lines = ["#!DST-0.GCD made up", "$LastName", "Nobody"]
    for k, title in enumerate(("PelvicTilt", "KneeFlexExt", "KneePower")):
        lines.append(f"!{title}")
        lines += ["\t".join(f"{x:.4f}" for x in (k + 0.1 * i, 2.0, 3.0)[:cells]) for i in range(rows)]
    return "\r\n".join(lines) + "\r\n"


def tidy(mean: str = "mean", deviation: str = "sd", percent: str = "percent") -> str:
    """A csv file of an ankle, with these names of columns."""
    rows = (f"ankle_dorsiflexion,{k},{0.1 * k:.2f},1.5\n" for k in range(101))
    return f"variable,{percent},{mean},{deviation}\n" + "".join(rows)


def decimal_commas(row: str) -> str:
    """A .gcd file of a knee with such rows."""
    return "!KneeFlexExt\n" + "".join(row.format(k) + "\n" for k in range(51))


def in_radians() -> str:
    """A knee that bends by 60 degrees, in radians."""
    rows = (f"knee_flexion,{k},{1.05 * np.sin(np.pi * k / 100.0):.3f},0.1\n" for k in range(101))
    return "variable,percent,mean,sd\n" + "".join(rows)


def test_commas_are_decimal_points_between_semicolons(tmp_path) -> None:
    """Protects norms that a spreadsheet wrote where a decimal point is a comma."""
    path = tmp_path / "norms.csv"
    rows = "".join(f"hip_flexion;{k};{k},5;1,25\n" for k in range(101))
    path.write_text("variable;percent;mean;deviation\n" + rows)
    curve = read_foreign(path).curves["hip_flexion"]
    np.testing.assert_allclose(curve.mean, np.arange(101) + 0.5, atol=1e-12)
    np.testing.assert_allclose(curve.deviation, 1.25, atol=1e-12)


def test_a_gcd_file_is_read_at_101_points(tmp_path) -> None:
    """Protects means and deviations of the angles, and that the rest is told."""
    path = tmp_path / "normal.GCD"
    path.write_text(gcd())
    found = read_foreign(path)
    assert set(found.curves) == {"pelvis_tilt", "knee_flexion"}
    np.testing.assert_allclose(found.curves["knee_flexion"].mean, 1.0 + 0.05 * np.arange(101), atol=1e-12)
    np.testing.assert_array_equal(found.curves["knee_flexion"].deviation, np.full(101, 2.0))
    assert any("KneePower" in note for note in found.notes)
    assert any("missing in the file" in note for note in found.notes)


def test_a_csv_file_is_read(tmp_path) -> None:
    """Protects tidy tables, with semicolons as well, and other variables."""
    for mark in ",;":
        rows = [mark.join(("Variable", "percent [%]", "mean", "SD"))]
        rows += [mark.join(("hip_flexion", f"{t:g}", f"{t / 10:g}", "1.5")) for t in AT]
        rows += [mark.join(("step_length", "0", "1", "1"))]
        path = tmp_path / "norms.csv"
        path.write_text("\n".join(rows))
        found = read_foreign(path)
        np.testing.assert_allclose(found.curves["hip_flexion"].mean, np.arange(101) / 10, atol=1e-12)
        assert "step_length" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.gcd", gcd(cells=1), "mean and standard deviation"),
        ("a.gcd", gcd(cells=3), "mean and standard deviation"),
        ("a.gcd", gcd(rows=3), "3 points"),
        ("a.gcd", gcd().replace("KneeFlexExt", "PelvicTilt"), "twice"),
        ("a.gcd", gcd().replace("2.0000", "two"), "not a row of numbers"),
        ("a.gcd", gcd().replace("2.0000", "-2.0"), "deviation is negative"),
        ("a.gcd", gcd().replace("2.0000", "nan"), "beyond 360"),
        ("a.gcd", "nothing\n", "no joint angle that a report uses"),
        ("a.gcd", "", "empty"),
        ("a.csv", "a,b\n1,2\n", "the header contains a, b"),
        ("a.csv", "variable,percent,mean,sd\nhip_flexion,0,1\n", "3 cells"),
        ("a.csv", "variable,percent,mean,sd\nhip_flexion,0,,1\n", "a cell of the table is empty"),
        ("a.csv", "variable,percent,mean,sd\nhip_flexion,0,1,1\n", "1 points"),
        ("a.csv", "variable;percent;mean;sd\nhip_flexion;0;5,5;\n", "a cell of the table is empty"),
        ("a.csv", "variable;percent;mean;sd\nhip_flexion;0;1.000,5;1\n", "is not a number"),
        ("a.csv", in_radians(), "radians"),
        ("a.csv", tidy("mean [rad]", "sd [rad]"), r"the column mean is in \[rad\]"),
        ("a.csv", tidy("mean [deg]", "sd[mrad]"), r"the column sd is in \[mrad\]"),
        ("a.csv", "# nothing\n", "only comments"),
        ("a.csv", tidy().replace("1.5", "1,5"), "more cells than the header"),
        ("a.gcd", decimal_commas("{},5"), "decimal comma or separates two numbers"),
        ("a.gcd", decimal_commas("{},5\t1,25"), "decimal comma or separates two numbers"),
        ("a.txt", "x", "has no known suffix"),
    ],
)
def test_a_file_that_is_no_norms_is_refused_in_a_sentence(tmp_path, name: str, text: str, says: str) -> None:
    """Protects from half a norm, from a patient's curves, and from a traceback."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_foreign(path)


@pytest.mark.parametrize("unit", ["deg", "degrees", "°", "Degree"])
def test_degrees_in_a_header_are_read(tmp_path, unit: str) -> None:
    """Protects tables that state the unit in which norms are."""
    path = tmp_path / "norms.csv"
    path.write_text(tidy(f"Mean [{unit}]", f"SD[{unit}]", "percent [%]"), encoding="utf-8")
    curve = read_foreign(path).curves["ankle_dorsiflexion"]
    np.testing.assert_allclose(curve.mean, 0.1 * np.arange(101), atol=1e-12)


@pytest.mark.parametrize("row", ["{}.0,2.5", "{}, 2", "{}.5,2"])
def test_commas_between_numbers_of_a_gcd_file_are_read(tmp_path, row: str) -> None:
    """Protects files whose commas can only separate: beside a blank, or where points are the decimal ones."""
    path = tmp_path / "norms.gcd"
    path.write_text(decimal_commas(row), encoding="utf-8")
    curve = read_foreign(path).curves["knee_flexion"]
    assert np.ptp(curve.mean) == 50.0
    assert curve.deviation[0] in (2.0, 2.5)


@pytest.mark.parametrize("unit", ["deg", "deg.", "Grad", "º", "°", "Degrees"])
def test_degrees_by_other_names_are_degrees(tmp_path: Path, unit: str) -> None:
    """Protects norms whose columns have their unit as other keyboards and languages write it, and remarks."""
    path = tmp_path / "a.csv"
    path.write_text(tidy(f"mean [{unit}]", f"sd [{unit}]").replace(",1.5\n", ",1.5,n=20\n"), encoding="utf-8")
    plain = tmp_path / "b.csv"
    plain.write_text(tidy(), encoding="utf-8")
    for name, curve in read_foreign(plain).curves.items():
        np.testing.assert_array_equal(read_foreign(path).curves[name].mean, curve.mean)
