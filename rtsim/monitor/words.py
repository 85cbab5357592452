"""Preparation of texts from other programs for the screen: printable, of limited length, and without
markup.
"""

from __future__ import annotations

import unicodedata
from html import escape

NAME_MOST, SENTENCE_MOST = 60, 400  # characters
N_TIP_LINE = 30
UNPRINTABLE = "\ufffd"
SPACES = {"Zs", "Zl", "Zp"}
STACKED = {"Mn", "Me"}  # marks above and below a letter
N_STACKED = 2  # on one letter; more run over the lines above and below


def printable(text: str, n_most: int = NAME_MOST) -> str:
    """Return the text in one line, cut to a length; control characters are replaced."""
    shown: list[str] = []
    n_mark = 0
    for character in text[: n_most + 1]:
        kind = unicodedata.category(character)
        n_mark = n_mark + 1 if kind in STACKED else 0
        if kind in SPACES or character in "\t\r\n":
            shown.append(" ")
        elif n_mark <= N_STACKED:
            shown.append(UNPRINTABLE if kind.startswith("C") else character)
    cut = len(text) > n_most
    return "".join(shown[: n_most - 1]) + "…" if cut else "".join(shown)


def tip(lines: list[str]) -> str:
    """Return a tool tip of plain lines, because Qt would interpret some texts as markup."""
    kept = [printable(line, SENTENCE_MOST) for line in lines[:N_TIP_LINE]]
    if len(lines) > N_TIP_LINE:
        kept.append(f"and {len(lines) - N_TIP_LINE} more")
    return "<p style='white-space: pre-wrap'>" + "<br>".join(map(escape, kept)) + "</p>" if kept else ""
