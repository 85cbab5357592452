"""`rtsim paper`: the table, JSON, drawings, exit codes, and what it refuses."""

from __future__ import annotations

import json

import pytest

from rtsim.papers import catalogue
from rtsim.papers.item import Comparison, ItemResult, PaperItem, StatedBound


def test_a_table_is_printed(here):
    """Protects the plain command: the paper's number, ours, the bound and the verdict."""
    done = here("paper", "003", "--table", "3")
    assert done.code == 0, done.err
    assert "Sancisi" in done.out
    (row,) = [line for line in done.out.splitlines() if "minimised, weight of MCL" in line]
    assert row.split()[5:] == ["1/m^2", "100", "100", "100", "yes"]


def test_json_and_a_drawing(here, tmp_path):
    """Protects programs and pictures: both of one call, the file named in the document, never replaced."""
    pytest.importorskip("pyqtgraph")
    arguments = ("paper", "003", "--table", "2", "--json", "--out", str(tmp_path / "new"))
    done = here(*arguments)
    assert done.code == 0, done.err
    (item,) = json.loads(done.out)["items"]
    path = tmp_path / "new" / "table_2.png"
    assert item["files"] == [str(path)]
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    again = here(*arguments)
    assert again.code == 1
    assert "exists already" in again.err
    assert here(*arguments, "--force").code == 0


def test_a_missed_bound_ends_with_1(here, monkeypatch):
    """Protects scripts: the table is printed in full, then what is missed is named and the exit code is 1."""
    rows = [Comparison("apples", "1", 1.0, 2.0, StatedBound("table 7", 1.0, 1.0))]
    item = PaperItem(
        kind="table",
        number="7",
        title="Apples",
        data="ours",
        has_data_of_paper=False,
        compute=lambda given: ItemResult(rows),
    )
    monkeypatch.setattr(catalogue, "items_of", lambda number: [item])
    done = here("paper", "003")
    assert done.code == 1
    assert "0 of 1 numbers are within their bounds" in done.out
    assert "1 value is outside the bound stated for the comparison: table 7, apples" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("Missing argument", "003")),
        (("9",), ("9", "003")),
        (("003", "--figure", "99"), ("--figure", "no figure '99'", "allowed")),
        (("003", "--table", "3", "--recording", "nowhere.c3d"), ("nowhere.c3d: no such file",)),
        (("003", "--table", "3", "--recording", __file__), ("table 3 does not use a recording",)),
        (("003", "--static", "a.trc"), ("--static", "add --recording FILE")),
        (("003", "--recording", __file__, "--static", "a.trc"), ("--static: a.trc: no such file",)),
        (("003", "--force"), ("--force", "add --out DIR")),
        (("003", "--plot-dpi", "200"), ("--plot-dpi", "add --out DIR")),
        (("003", "--table", "2", "--out", f"{__file__}/x"), ("--out", "cannot be created")),
    ],
)
def test_bad_input_is_one_sentence(here, arguments, words):
    """Protects users from tracebacks: one sentence that names what is wrong, and a code."""
    done = here("paper", *arguments)
    assert done.code != 0
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
