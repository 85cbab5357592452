"""Names in the source are the terms of docs/glossary.md, and the words that they replaced stay out."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from rtsim.cli.main import COMMANDS
from tests.syntax_trees import ROOT, module_paths, syntax_trees

PACKAGES = ("kernels", "streams", "rtsim", "benchmarks")
MODULES = module_paths(*PACKAGES)
REPLACED = frozenset(
    [
        "acquaintance",
        "whose",
        "door",
        "yardstick",
        "asked",
        "lacking",
        "unseen",
        "vague_beforehand",
        "course",
        "rehearsal",
        "urgency",
        "collection",
        "turnover",
        "transcript",
        "obedience",
        "beyond",
        "departures",
        "held",
        "shown",
        "shifts",
        "number_values",
        "output_rows",
        "other_assembly",
        "assembly_odds",
        "run_again",
        "driven",
        "worn",
        "mechanisms",
        "second_opinion",
        "foreseen",
        "edition",
        "stated_bearing",
        "bearing",
        "pulls",
        "error_columns",
    ]
)
"""Former names of modules: riddles to whoever did not write them."""
FOUND_BY_NAME = {"Controller"}
"""Classes that a folder's modules have under one name, by which they are found."""


@pytest.fixture(scope="module")
def class_names() -> list[str]:
    """Names of all classes, one as often as it is defined."""
    return [
        node.name
        for tree in syntax_trees(*PACKAGES).values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]


def test_no_module_has_a_replaced_name() -> None:
    """Protects readers: a module is called by the term of the field for what it holds."""
    assert sorted(str(path) for path in MODULES if path.stem in REPLACED) == []


def test_class_names_are_unique(class_names: list[str]) -> None:
    """Protects readers: one name stands for one thing, wherever it is met."""
    counts = Counter(name for name in class_names if not name.startswith("_"))
    assert {name for name, n in counts.items() if n > 1} <= FOUND_BY_NAME


@pytest.mark.parametrize(
    "name", ["OtherAssembly", "Door", "Yardstick", "Acquaintance", "Obedience", "Turnover"]
)
def test_no_class_has_a_replaced_name(name: str, class_names: list[str]) -> None:
    """Protects readers from the former name of a class beside the one in the glossary."""
    assert name not in class_names


CROWDED = {"rtsim/cli/commands": len(COMMANDS)}
"""Modules that a folder may have at most where it is not 20: each command is found there, by its name."""


def test_rooms_have_at_most_twenty_modules() -> None:
    """Protects readers: a folder can be looked through."""
    counts = Counter(str(path.parent) for path in MODULES if path.name != "__init__.py")
    assert {folder: n for folder, n in counts.items() if n > CROWDED.get(folder, 20)} == {}


def test_the_glossary_gives_every_term_a_meaning_and_a_source() -> None:
    """Protects strangers: terms stand in one page, each once, with what it means and where it comes from."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"
    ]
    terms = [row for row in rows if row[0] != "term" and not set(row[0]) <= {"-"}]
    assert len(terms) >= 80
    assert [row[0] for row in terms if len(row) != 3 or not all(row)] == []
    assert [name for name, n in Counter(row[0] for row in terms).items() if n > 1] == []
