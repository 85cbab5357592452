"""Dotted paths into tables: what they find, what they leave alone, what is told of wrong ones."""

from __future__ import annotations

import pytest

from rtsim.errors import ConfigError
from rtsim.studies.keys import place_of, value_at, with_value

TABLES = {
    "simulation": {"step_ms": 1.0},
    "ligaments": [{"name": "ACL", "at": (1.0, 2.0, 3.0)}, {"name": "PCL", "at": (4.0, 5.0, 6.0)}],
    "nothing": None,
}


@pytest.mark.parametrize(
    ("key", "value"),
    [("simulation.step_ms", 1.0), ("ligaments.PCL.at.1", 5.0), ("ligaments[0].at[2]", 3.0)],
)
def test_a_path_finds_its_value(key: str, value: float) -> None:
    """Protects the reading of keys: entries of lists by name and by number."""
    assert value_at(TABLES, place_of(TABLES, key, "here")) == value


def test_a_copy_has_the_value_and_the_tables_stay() -> None:
    """Protects cases from each other: what one changes no other sees."""
    changed = with_value(TABLES, place_of(TABLES, "ligaments.PCL.at.1", "here"), 9.0)
    assert changed["ligaments"][1]["at"] == [4.0, 9.0, 6.0]
    assert TABLES["ligaments"][1]["at"] == (4.0, 5.0, 6.0)
    assert changed["simulation"] is TABLES["simulation"]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("simulation.stepms", ("there is no 'stepms' below simulation", "allowed: step_ms")),
        ("ligaments.ACLL.at", ("there is no 'ACLL' below ligaments", "ACL")),
        ("ligaments.ACL.at.3", ("0 to 2",)),
        ("nothing.more", ("not set",)),
        ("simulation.step_ms.more", ("single value",)),
    ],
)
def test_a_wrong_path_is_one_sentence(key: str, words: tuple[str, ...]) -> None:
    """Protects whoever misspells a key: what is missing where, and what comes near."""
    with pytest.raises(ConfigError) as told:
        place_of(TABLES, key, "parameters.x.key")
    assert all(word in str(told.value) for word in (f"the key {key!r} does not exist", *words))
