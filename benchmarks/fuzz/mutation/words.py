"""Mutations of texts: numbers at their extremes, words exchanged, lines moved, other encodings."""

from __future__ import annotations

import re
from random import Random

NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[^\s,;=<>\"']+")
EXTREMES = tuple(
    text.encode()
    for text in (
        "0", "-0", "-1", "1", "2", "nan", "NaN", "inf", "-inf", "1e308", "-1e308", "1e999", "1e-320", "1e9",
        "1e15", "4294967296", "-2147483649", "9223372036854775808", "1" * 400, "1" * 5000, "0x10", "1_000",
        "1,5", "--1", "+", "1.5.2", "1e", "\u0661\u0662", "\u00b2", "", " ", "x", "true", "1d3", "0.1f",
        "100000000", "65536", "1000000",
    )
)  # fmt: skip
WORDS = tuple(
    text.encode()
    for text in (
        "", "a" * 300, "\u202eabc", "\u2028", "\x1b[31m", "\0", "\x85", "\u00e9paule", "\ufeff", "../../etc",
        "%s%n", "\u3042", "NaN", "null", "\t", "\n", "\r", "\x0b", "\x1c", "*", "|", ":", "a:b", "\u00a0",
        "{}", "0",
    )
)  # fmt: skip
RAW = (b"\xff", b"\xed\xa0\x80", b"\x00\x00", b"\xc3", b"\xe9", b"\xfe\xff")
"""Bytes that are no UTF-8."""
ENCODINGS = ("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32", "cp1252", "cp437")
SEPARATORS = (b"\t", b" ", b",", b";", b"  ", b"\n", b"\r\n", b"\r", b"=", b"")


def mutated_text(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return a text with one to four faults; others : texts to splice with."""
    for _ in range(random.randint(1, 4)):
        data = _KINDS[random.randrange(len(_KINDS))](data, others, random)
    return data


def replaced(pattern: re.Pattern[bytes], data: bytes, piece: bytes, random: Random) -> bytes:
    """Replace one match of a pattern in the text, near a random place, by a piece."""
    start = random.randrange(min(len(data), random.choice((300, 3000, len(data)))) + 1)
    found = pattern.search(data, start) or pattern.search(data)
    return data[: found.start()] + piece + data[found.end() :] if found else data + piece


def _number(data: bytes, others: list[bytes], random: Random) -> bytes:
    return replaced(NUMBER, data, random.choice(EXTREMES), random)


def _word(data: bytes, others: list[bytes], random: Random) -> bytes:
    if random.random() < 0.5 and (found := WORD.findall(data[:4000])):
        return replaced(WORD, data, random.choice(found), random)
    return replaced(WORD, data, random.choice(WORDS + RAW), random)


def _line(data: bytes, others: list[bytes], random: Random) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(min(len(lines), random.choice((12, len(lines)))))
    kind = random.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at:at] = [lines[at]] * random.choice((1, 1, 50))
    elif kind == 2:
        lines[at] = lines[random.randrange(len(lines))]
    elif kind == 3:
        lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
    elif kind == 4:
        lines[at] += random.choice(SEPARATORS) + lines[random.randrange(len(lines))]
    else:
        del lines[at + 1 :]
    return b"\n".join(lines)


def _separator(data: bytes, others: list[bytes], random: Random) -> bytes:
    before, after = random.choice(SEPARATORS[:-1]), random.choice(SEPARATORS)
    return data.replace(before, after, random.choice((1, 3, -1)))


def _encoding(data: bytes, others: list[bytes], random: Random) -> bytes:
    if random.random() < 0.7:  # most are kept, as few readers get past a foreign one
        at = random.randrange(len(data) + 1)
        return data[:at] + random.choice(RAW) + data[at:]
    return data.decode("utf-8", "replace").encode(random.choice(ENCODINGS), "replace")


def _splice(data: bytes, others: list[bytes], random: Random) -> bytes:
    other = random.choice(others) if others else data
    at, start = random.randrange(len(data) + 1), random.randrange(len(other) + 1)
    return (
        data[:at]
        + other[start : start + random.choice((20, 200, len(other)))]
        + data[at + random.choice((0, 20)) :]
    )


_KINDS = (_number, _number, _number, _word, _word, _line, _line, _separator, _encoding, _splice)
