"""Widths of texts in the widest usual sans serif font, and texts shortened or broken into lines that fit an
available width.

A report is drawn before it is known which font a browser or printer has for "sans-serif", so that texts are
given the room of the widest one (DejaVu Sans; Arial, Helvetica and Liberation Sans are narrower).
"""

from __future__ import annotations

import unicodedata

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
NAME_MOST = 44
"""Letters of a file's name inside a sentence, which must keep its other words."""
CLASSES = {
    0.3: "'IJijl", 0.35: " ,./:;\\|", 0.4: "()-[]ft", 0.45: "!r", 0.5: '"*_`', 0.55: "?csz", 0.6: "FLkvxy",
    0.65: "$0123456789EPSTYabdeghnopqu{}", 0.7: "ABCKRVXZ", 0.75: "NU", 0.8: "&DGHOQ",
    0.85: "#+<=>^w~\N{PLUS-MINUS SIGN}", 0.9: "M", 1.0: f"%@Wm{ELLIPSIS}",
}  # fmt: skip
"""Advance widths in parts of the font's size, rounded up, and the letters that have them."""
LETTERS = {letter: width for width, letters in CLASSES.items() for letter in letters}
OTHER, FULL = 0.9, 1.0
"""Widths of letters of other alphabets, and of those that fill a square, as Chinese ones."""


def printable(words: str) -> str:
    """Return a text without line ends and without characters that XML does not allow."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def letter_width(letter: str) -> float:
    """Return the width of a letter as a fraction of the font size; an accent adds nothing to its letter."""
    if letter in LETTERS:
        return LETTERS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return FULL
    return LETTERS.get(unicodedata.normalize("NFD", letter)[0], OTHER)


def width_of(words: str, size: float, bold: bool = False) -> float:
    """Return the width of a line of text, in the unit of the font's size."""
    width = sum(map(letter_width, words))
    return size * (1.08 * width + 0.05 * len(words) if bold else width)


def n_fitting(words: str, room: float, size: float, bold: bool = False) -> int:
    """Return how many of the first letters of a text fit within the width `room`."""
    taken = 0.0
    for n, letter in enumerate(words):
        taken += width_of(letter, size, bold)
        if taken > room + 1e-9 * size:
            return n
    return len(words)


def cut(words: str, room: float, size: float, bold: bool = False) -> str:
    """Return a text shortened with an ellipsis if it is wider than `room`, between words if possible."""
    if n_fitting(words, room, size, bold) == len(words):
        return words
    n = max(1, n_fitting(words, room - width_of(ELLIPSIS, size, bold), size, bold))
    short = words[:n]
    whole = short.rpartition(" ")[0] if words[n] != " " else short
    return (whole if len(whole) > n // 2 else short).rstrip(" ,;:") + ELLIPSIS


def folded(words: str, room: float, size: float, bold: bool = False) -> list[str]:
    """Return a text broken into lines of at most the width `room`, between words, or inside words longer than
    a line.
    """
    lines, now = [], ""
    for word in printable(words.replace("\n", " ")).split():
        whole = f"{now} {word}" if now else word
        if width_of(whole, size, bold) <= room:
            now = whole
            continue
        lines += [now] if now else []
        while n_fitting(word, room, size, bold) < len(word):
            n = max(1, n_fitting(word, room, size, bold))
            lines, word = [*lines, word[:n]], word[n:]
        now = word
    return [*lines, now] if now or not lines else lines


def short_name(name: str, most: int = NAME_MOST) -> str:
    """Return a name of at most `most` letters; a longer one loses its middle, as files of a session differ
    at their end.
    """
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return name[: most - 1 - end] + ELLIPSIS + name[len(name) - end :]
