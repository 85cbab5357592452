"""Papers and their items: found by folder, ordered as printed, chosen by number."""

from __future__ import annotations

import pytest

from rtsim.errors import ConfigError
from rtsim.papers.catalogue import chosen_items, items_of, paper_numbers, printed_order, publication_of


def test_items_stand_in_printed_order() -> None:
    """Protects the order of sections with two numbers, and of appendices, which come last."""
    numbers = ["A.6", "10", "5.15", "2", "5.9", "B.7"]
    assert sorted(numbers, key=printed_order) == ["2", "5.9", "5.15", "10", "A.6", "B.7"]


@pytest.mark.parametrize("number", paper_numbers())
def test_every_paper_is_complete(number: str) -> None:
    """Protects the list: each folder names its paper, and no figure or table is there twice."""
    assert publication_of(number).number == number
    items = items_of(number)
    names = [item.name for item in items]
    assert names
    assert len(set(names)) == len(names)
    assert all(item.data and item.title for item in items)


def test_an_unknown_number_is_refused() -> None:
    """Protects users from an empty answer: the error lists the numbers that are there."""
    with pytest.raises(ConfigError, match=r"no table '99'.*allowed: .*2, 3"):
        chosen_items("003", [("table", "99")])
    assert [item.name for item in chosen_items("003", [("table", "3")])] == ["table 3"]
