"""Mutations of XML: elements removed, doubled, moved, renamed; texts replaced by other texts."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree

from benchmarks.fuzz.mutation.words import EXTREMES, NUMBER, WORDS, mutated_text, replaced

EXTREME_TEXTS = tuple(text.decode() for text in EXTREMES)
STRANGE_WORDS = tuple(word.decode() for word in WORDS if word.isascii() and word.decode().isprintable())


def mutated_markup(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return an XML document with changed elements; a text that cannot be parsed is mutated as plain text."""
    if random.random() < 0.2:
        return mutated_text(data, others, random)
    try:
        root = ElementTree.fromstring(data)
        for _ in range(random.randint(1, 3)):
            _change(root, random)
        return ElementTree.tostring(root)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError, TypeError):
        return mutated_text(data, others, random)


def _change(root: ElementTree.Element, random: Random) -> None:
    """Change one element below the root."""
    pairs = [(parent, child) for parent in root.iter() for child in parent]
    if not pairs:
        return
    parent, element = random.choice(pairs)
    _, other = random.choice(pairs)
    kind = random.randrange(9)
    if kind == 0:
        parent.remove(element)
    elif kind == 1:
        parent.append(element)
    elif kind == 2 and element not in list(other.iter()):
        parent.remove(element)
        other.append(element)
    elif kind == 3:
        element.tag = other.tag
    elif kind == 4:
        element.text = other.text
    elif kind == 5 and element.attrib:
        element.set(
            random.choice(list(element.attrib)), random.choice((*STRANGE_WORDS, other.get("name", "")))
        )
    elif kind == 6:
        element.text = random.choice((*EXTREME_TEXTS, *STRANGE_WORDS))
    else:
        text = (element.text or "").encode()
        element.text = replaced(NUMBER, text, random.choice(EXTREMES), random).decode("utf-8", "replace")
