"""Tables of a report: csv and spreadsheet are read back number for number."""

from __future__ import annotations

import csv
import math

import pytest

from rtsim.errors import ConfigError
from rtsim.report.clinical.tables import ReportTable, curves_of, tables_of, write_folder, write_xlsx
from tests.rtsim.report.clinical.made_up import gait_results, report_of


def same(cell: object, told: object) -> bool:
    """Whether a cell that was read is the one that was written."""
    if isinstance(told, float):
        return cell in ("", None) if not math.isfinite(told) else abs(float(str(cell)) - told) <= 1e-12
    if isinstance(told, int):
        return int(float(str(cell))) == told
    return (cell or "") == told


def test_csv_and_spreadsheet_are_read_back(tmp_path) -> None:
    """Protects every number and text of all tables, formulas and links among the texts."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    results = gait_results()
    results.fields["joint_angles"][150:160] = math.nan
    report = report_of(results, gait_results(seed=1), before=gait_results(seed=2), norms=True,
                       name="=1+1 ;\"Ä\",http://x")  # fmt: skip
    tables = tables_of(report)
    write_folder(tmp_path, tables)
    write_xlsx(tmp_path / "report.xlsx", tables, curves_of(report))
    book = openpyxl.load_workbook(tmp_path / "report.xlsx", read_only=True)
    for table in tables:
        with (tmp_path / f"{table.name}.csv").open(encoding="utf-8", newline="") as file:
            in_csv = list(csv.reader(file))
        in_book = list(book[table.name].iter_rows(values_only=True))
        assert tuple(in_csv[0]) == table.head == in_book[0][: len(table.head)]
        assert len(in_csv) == len(table.rows) + 1
        for told, line, row in zip(table.rows, in_csv[1:], in_book[1:], strict=True):
            padded = [*row, *[None] * (len(told) - len(row))]
            safe = [f"'{x}" if str(x).startswith("=") else x for x in told]  # no formula in a csv
            assert all(same(cell, x) for cell, x in zip(line, safe, strict=True)), (table.name, told, line)
            assert all(same(cell, x) for cell, x in zip(padded, told, strict=False)), (table.name, told, row)
    wide = list(book["knee_flexion"].iter_rows(values_only=True))
    assert len(wide) == 103
    assert wide[1][:2] == ("%", "deg")
    assert wide[2][1] == pytest.approx(curves_of(report)["now"][6].strides["right"][0][0], abs=1e-12)


def test_tables_of_a_trial_without_strides(tmp_path) -> None:
    """Protects tables from an error where there is nothing: heads alone."""
    report = report_of(gait_results())
    bare = report._replace(kinematics={"now": []}, kinetics={"now": []})
    tables = {table.name: table for table in tables_of(bare._replace(now=bare.now._replace(trials=())))}
    assert tables["strides"].rows == []
    write_folder(tmp_path, list(tables.values()))
    assert (tmp_path / "steps.csv").read_text().startswith("session,trial")


def test_a_long_table_goes_on_in_a_further_sheet(tmp_path, monkeypatch) -> None:
    """Protects strides of long recordings: no row or column is lost where a sheet is full."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    report = report_of(gait_results())
    tables, curves = tables_of(report), curves_of(report)
    strides = next(table for table in tables if table.name == "strides")
    monkeypatch.setattr("rtsim.report.clinical.tables.MOST_ROWS", len(strides.rows) // 2)
    monkeypatch.setattr("rtsim.report.clinical.tables.MOST_STRIDES", 2)
    write_xlsx(tmp_path / "report.xlsx", tables, curves)
    book = openpyxl.load_workbook(tmp_path / "report.xlsx", read_only=True)
    parts = [list(book[name].iter_rows(values_only=True)) for name in book.sheetnames if "strides" in name]
    assert [part[0] for part in parts] == [strides.head] * len(parts)
    assert sum(len(part) - 1 for part in parts) == len(strides.rows)
    assert "strides 2" in book.sheetnames
    wide = [next(book[name].iter_rows(values_only=True)) for name in ("knee_flexion", "knee_flexion 2")]
    assert [len(names) for names in wide] == [3, 3]


def test_a_cell_that_does_not_fit_is_told(tmp_path) -> None:
    """Protects from a spreadsheet that lacks a part of a text."""
    pytest.importorskip("xlsxwriter")
    table = ReportTable("quality", ("name",), [("x" * 40_000,)])
    with pytest.raises(ConfigError, match=r"row 2, column 1 of sheet quality .*give a folder"):
        write_xlsx(tmp_path / "report.xlsx", [table], {})
    assert not (tmp_path / "report.xlsx").exists()


def test_strides_have_one_number_in_every_table(tmp_path) -> None:
    """Protects who looks up a stride of the wide sheet in the long table: numbers begin anew with a trial."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    report = report_of(gait_results(), gait_results(seed=1))
    tables = tables_of(report)
    write_xlsx(tmp_path / "report.xlsx", tables, curves_of(report))
    book = openpyxl.load_workbook(tmp_path / "report.xlsx", read_only=True)
    wide = next(book["knee_flexion"].iter_rows(values_only=True))
    rows = next(table.rows for table in tables if table.name == "strides")
    named = dict.fromkeys(" ".join(map(str, row[:4])) for row in rows if str(row[5]) == "knee_flexion")
    assert list(wide[1:]) == list(named)
