"""Comparison of the values printed in a paper with the values computed here, as text and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rtsim.papers.item import Comparison, ItemResult, PaperItem, Publication, StatedBound

HEADS = ("", "unit", "paper", "ours", "bound", "within bound", "note")
WIDTH = 110
OTHER_DATA = "The data are those of rtsim, not of the paper: {}."


class ReproducedItem(NamedTuple):
    """A recomputed item with its result, and the files of its drawing."""

    item: PaperItem
    result: ItemResult
    files: Sequence[Path]


def notes_of(item: PaperItem, result: ItemResult) -> list[str]:
    """Return notes for the foot of a table or figure: the source of the data if the paper used others, then
    the notes of the computed result.
    """
    data, is_of_paper = data_of(item, result)
    return [*([] if is_of_paper else [OTHER_DATA.format(data)]), *result.notes]


def data_of(item: PaperItem, result: ItemResult) -> tuple[str, bool]:
    """Return the source of the data from which a figure or table of a paper (item) was computed, as text, and
    whether the paper used the same data."""
    own = item.has_data_of_paper if result.has_data_of_paper is None else result.has_data_of_paper
    return result.data or item.data, own


def missed_rows(found: Sequence[ReproducedItem]) -> list[str]:
    """Return the item (figure or table of a paper) and the quantity of every comparison whose computed value
    is outside its bound."""
    return [
        f"{one.item.name}, {row.quantity}" for one in found for row in one.result.rows if row.is_held is False
    ]


def text_of(publication: Publication, found: Sequence[ReproducedItem]) -> str:
    """Return the comparison with a paper as text: for each figure and table an aligned table of its values,
    below it the reasons why a value has no bound or differs, numbered, and notes.
    """
    parts = [f"{publication.number}: {publication.title}\n{publication.cited}"]
    for one in found:
        lines, rows = [f"{one.item.name}: {one.item.title}"], one.result.rows
        reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
        whys = [f"[{reasons.index(row.reason) + 1}]" if row.reason else "" for row in rows]
        lines += aligned([HEADS, *((*cells_of(row), why) for row, why in zip(rows, whys, strict=True))])
        for k, reason in enumerate(reasons):
            lines += folded(f"[{k + 1}] {reason}")
        data, is_of_paper = data_of(one.item, one.result)
        for note in (*([f"Data: {data}."] if is_of_paper else []), *notes_of(one.item, one.result)):
            lines += folded(note)
        lines += [f"  wrote {path}" for path in one.files]
        parts.append("\n".join(lines))
    rows = [row for one in found for row in one.result.rows]
    n_bound = sum(row.bound is not None for row in rows)
    n_held = sum(bool(row.is_held) for row in rows)
    parts.append(
        f"{n_held} of {n_bound} numbers are within their bounds; numbers without a bound: "
        f"{len(rows) - n_bound}"
    )
    return "\n\n".join(parts)


def folded(text: str) -> list[str]:
    """Wrap a sentence into several indented lines."""
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def cells_of(row: Comparison) -> tuple[str, ...]:
    """Return a computed value and the printed one as the texts of a table row: quantity, unit, printed value,
    computed value, bound, and whether the bound is kept.
    """
    held = {True: "yes", False: "NO", None: ""}[row.is_held]
    return (row.quantity, row.unit, number(row.paper), number(row.ours), bound_in_words(row.bound), held)


def number(value: float | str | None) -> str:
    """Return a value as text with four significant digits; text stays unchanged."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return "none" if math.isnan(value) else f"{value:.4g}"


def bound_in_words(bound: StatedBound | None) -> str:
    """Return a bound as text, such as "at most 4"."""
    if bound is None:
        return "-"
    if bound.low == bound.high:
        return f"{bound.low:.4g}"
    if math.isinf(bound.low):
        return f"at most {bound.high:.4g}"
    if math.isinf(bound.high):
        return f"at least {bound.low:.4g}"
    return f"{bound.low:.4g} to {bound.high:.4g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of texts as lines of a table, with columns aligned and numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    left = (0, 1, 4, 5, 6)
    return [
        "  " + "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]  # fmt: skip


def document_of(publication: Publication, found: Sequence[ReproducedItem]) -> dict[str, Any]:
    """Return the comparison as a dictionary, for programs; values that are not known are None."""
    return {
        "paper": publication._asdict(),
        "items": [
            {
                "kind": one.item.kind,
                "number": one.item.number,
                "title": one.item.title,
                "data": data_of(one.item, one.result)[0],
                "has_data_of_paper": data_of(one.item, one.result)[1],
                "rows": [row_document(row) for row in one.result.rows],
                "notes": notes_of(one.item, one.result),
                "files": [str(path) for path in one.files],
            }
            for one in found
        ],
        "missed": missed_rows(found),
    }


def row_document(row: Comparison) -> Mapping[str, Any]:
    """Return a row of the comparison as a dictionary; bounds without a limit are None."""
    bound = None
    if row.bound is not None:
        ends = {"low": finite(row.bound.low), "high": finite(row.bound.high)}
        bound = {**ends, "source": row.bound.source}
    return {
        "quantity": row.quantity,
        "unit": row.unit,
        "paper": row.paper,
        "ours": finite(row.ours),
        "bound": bound,
        "held": row.is_held,
        "reason": row.reason,
    }


def finite(value: float) -> float | None:
    """Return the value, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None
