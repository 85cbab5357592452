"""The table of thresholds in docs/numbers.md: each constant has the value that it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (\S+) \| (kernels/[\w/]+\.py) \| (.+) \|$", TEXT, re.M)


def value_of(name: str, path: str) -> float:
    """Value of a constant, also of one that is set with others in one line."""
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=True) if isinstance(target, ast.Tuple) and isinstance(
                value, ast.Tuple) else [(target, value)]  # fmt: skip
            for key, number in pairs:
                if isinstance(key, ast.Name) and key.id == name:
                    return float(ast.literal_eval(number))
    raise LookupError(f"{path} has no {name}")


def test_the_table_has_rows() -> None:
    """Protects this test from a table that it does not read."""
    assert len(ROWS) >= 35
    assert len({row[:1] + row[2:3] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[2]}:{row[0]}")
def test_a_threshold_is_what_the_page_says(row: tuple[str, str, str, str]) -> None:
    """Protects readers: who changes a threshold changes the page, and says what chose the new one."""
    name, value, path, reason = row
    assert value_of(name, path) == float(value)
    assert len(reason) > 10


@pytest.mark.parametrize("path", sorted(set(re.findall(r"tests/[\w/]+\.py", TEXT))))
def test_what_holds_a_threshold_is_there(path: str) -> None:
    """Protects readers from a test that was moved."""
    assert (ROOT / path).exists()
