"""The table of a paper's numbers beside ours: what is held, what is missed, and what has no bound."""

from __future__ import annotations

import json
import math

import pytest

from rtsim.papers.comparison_table import ReproducedItem, bound_in_words, document_of, missed_rows, text_of
from rtsim.papers.item import Comparison, ItemResult, PaperItem, Publication, StatedBound

PAPER = Publication("999", "On falling apples", "Nobody 1999, Journal of Orchards 1, 1-2")
ROWS = [
    Comparison("height", "m", 2.0, 2.1, StatedBound("table 1", 1.5, 2.5)),
    Comparison("speed", "m/s", 6.0, 6.5, StatedBound("section 2", high=6.2)),
    Comparison("time", "s", "about 1", math.nan, StatedBound("section 2", low=0.5)),
    Comparison("apples", "1", None, 3.0, reason="the paper counts none"),
]


def reproduced(ours: bool) -> list[ReproducedItem]:
    """One table of these rows, from our data or the paper's."""
    item = PaperItem(
        kind="table",
        number="1",
        title="Falls",
        data="an apple of ours",
        has_data_of_paper=not ours,
        compute=lambda given: ItemResult(ROWS),
    )
    return [ReproducedItem(item, ItemResult(ROWS, notes=["Nobody was hurt."]), [])]


def test_bounds_are_judged() -> None:
    """Protects the verdict: within, above, not a number, and none stated."""
    assert [row.is_held for row in ROWS] == [True, False, False, None]
    assert missed_rows(reproduced(True)) == ["table 1, speed", "table 1, time"]


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (StatedBound("x", 1.0, 1.0), "1"),
        (StatedBound("x", high=4.0), "at most 4"),
        (StatedBound("x", low=4.0), "at least 4"),
        (StatedBound("x", 1.0, 2.0), "1 to 2"),
        (None, "-"),
    ],
)
def test_a_bound_in_words(bound: StatedBound | None, words: str) -> None:
    """Protects readers of the table from bounds that read as their opposite."""
    assert bound_in_words(bound) == words


def test_the_text_says_it_all() -> None:
    """Protects the printed table: values, verdicts, the reason without a bound, and whose data they are."""
    text = text_of(PAPER, reproduced(True))
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith("  ")}
    assert rows["height"][-1] == "yes"
    assert rows["speed"][-1] == "NO"
    assert rows["time"][-5:] == ["none", "at", "least", "0.5", "NO"]
    assert rows["apples"][-2:] == ["-", "[1]"]
    assert "[1] the paper counts none" in text
    assert "The data are those of rtsim, not of the paper: an apple of ours." in text
    assert text.endswith("1 of 3 numbers are within their bounds; numbers without a bound: 1")
    assert "The data are those of rtsim" not in text_of(PAPER, reproduced(False))


def test_the_document_is_json() -> None:
    """Protects programs: strict JSON without NaN, a null where nothing is known or no bound is stated."""
    document = json.loads(json.dumps(document_of(PAPER, reproduced(True)), allow_nan=False))
    (item,) = document["items"]
    assert [row["held"] for row in item["rows"]] == [True, False, False, None]
    assert item["rows"][2]["ours"] is None
    assert item["rows"][1]["bound"] == {"low": None, "high": 6.2, "source": "section 2"}
    assert item["notes"][0].startswith("The data are those of rtsim")
