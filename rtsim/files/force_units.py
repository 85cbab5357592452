"""Units of forces and moments as files spell them."""

from __future__ import annotations

import re

NEWTONS = {"n": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1e3, "lbf": 4.4482216152605}
NEWTON_METRES = {"nm": 1.0, "ncm": 1e-2, "ndm": 1e-1, "nmm": 1e-3, "knm": 1e3, "knmm": 1.0}


def plain_unit(text: str) -> str:
    """A unit in lower case without what stands between its parts: `N.mm`, `N*mm`, `N mm` are the same."""
    return re.sub(r"[^a-z]", "", text.lower())


def newtons_per_unit(text: str) -> float | None:
    """Factor to newtons, None for what is no force."""
    return NEWTONS.get(plain_unit(text))


def newton_metres_per_unit(text: str) -> float | None:
    """Factor to newton metres, None for what is no moment."""
    return NEWTON_METRES.get(plain_unit(text))
