"""The table of result fields in docs/protocol.md, from the quantities themselves."""

from __future__ import annotations

from collections.abc import Iterable

from streams.messages import FieldSpec

HEAD = ("field", "shape", "unit", "frame", "parts", "meaning")
N_NAMED = 4
"""So many parts at the most are listed."""


def table_of(fields: Iterable[FieldSpec]) -> list[str]:
    """Lines of a table in Markdown; an axis of labels is `n`, as it depends on the model."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for spec in fields:
        first = "n" if spec.labels and spec.shape else ""
        shape = [first, *map(str, spec.shape[1:])] if first else [str(n) for n in spec.shape]
        parts = ", ".join(spec.parts)
        if len(spec.parts) > N_NAMED:
            shape[1], parts = "m", "labels of another field"
        rows.append((f"`{spec.name}`", f"[{', '.join(shape)}]", spec.unit, spec.frame, parts, spec.meaning))
    return [f"| {' | '.join(row)} |" for row in rows]
