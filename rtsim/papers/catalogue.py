"""The catalogue of papers and their figures and tables, found by folder: each folder paper_NUMBER defines the
constant PUBLICATION, and its modules define tuples ITEMS of figures and tables.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Sequence
from importlib import import_module

import rtsim.papers
from rtsim.errors import ConfigError
from rtsim.papers.item import Kind, PaperItem, Publication

FOLDER = "paper_"


def paper_numbers() -> list[str]:
    """Return the numbers of the papers, in order."""
    found = (module.name for module in pkgutil.iter_modules(rtsim.papers.__path__) if module.ispkg)
    return sorted(name.removeprefix(FOLDER) for name in found if name.startswith(FOLDER))


def publication_of(number: str) -> Publication:
    """Return authors, title and reference of the paper with this number."""
    found: Publication = import_module(f"{rtsim.papers.__name__}.{FOLDER}{number}").PUBLICATION
    return found


def items_of(number: str) -> list[PaperItem]:
    """Return all figures, then all tables of the paper with this catalogue number, each kind in the order of
    its printed numbers."""
    package = import_module(f"{rtsim.papers.__name__}.{FOLDER}{number}")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    items = [item for module in modules for item in getattr(module, "ITEMS", ())]
    return sorted(items, key=lambda item: (item.kind, printed_order(item.number)))


def printed_order(number: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers of figures and tables as printed: "2" before "10", "5.9" before "5.15",
    and numbers before those of appendices, such as "A.6".
    """
    parts = re.findall(r"\d+|[^\d.]+", number)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def chosen_items(number: str, chosen: Sequence[tuple[Kind, str]]) -> list[PaperItem]:
    """Return the items of a paper chosen by kind and number; all items if none is chosen.

    ConfigError for a figure or table that does not exist.
    """
    items = items_of(number)
    for kind, wanted in chosen:
        there = [item.number for item in items if item.kind == kind]
        if wanted not in there:
            raise ConfigError(
                f"paper {number} has no {kind} {wanted!r} that rtsim reproduces",
                where=f"--{kind}",
                allowed=", ".join(there) or f"none, because rtsim reproduces no {kind} of this paper",
            )
    return [item for item in items if not chosen or (item.kind, item.number) in chosen]
