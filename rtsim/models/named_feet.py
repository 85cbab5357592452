"""The feet of a person's model, and their sides, by the names of its bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence

FOOT = re.compile(r"(?:(?P<before>r|l|right|left)_)?(?:foot|calcn)(?:_(?P<after>r|l|right|left))?")
LETTERS = {"r": "right", "right": "right", "l": "left", "left": "left"}


def feet_of(bodies: Sequence[str], own: str) -> list[tuple[int, str]]:
    """Return the index of the body, and the side (right or left), of each foot among the names of a model's
    bodies; `own` is the side of a foot whose name states none.
    """
    found = []
    for b, name in enumerate(bodies):
        match = FOOT.fullmatch(name)
        if match:
            said = match["before"] or match["after"]
            found.append((b, LETTERS[said] if said else own))
    return found
