"""Telemetry messages of a program about itself and its peers, limited in size so that they can always be sent
and shown.

A message to the user may quote text from an unknown sender: a label, a key, a megabyte of text. So every text
is shortened and freed of control characters, and the number of texts in one telemetry message is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TypeVar

from streams.clock import now_ns
from streams.messages import Telemetry

LONGEST = 300
"""Longest sentence [characters]."""
MOST_SENTENCES = 64
"""Largest number of sentences in one telemetry message; of further ones the number is stated."""
MOST_NAMES = 256
"""Largest number of counters, and of gauges, in one telemetry message."""
LONGEST_NAME = 64
LARGEST = 2**63 - 1
"""Value at which counters stay."""
CUT = "..."

Number = TypeVar("Number", int, float)


def plain(text: str, longest: int = LONGEST) -> str:
    """Return the text as one line of at most `longest` printable characters.

    Control characters (and with them the escape codes of a terminal) and marks that reverse the direction of
    writing are written as codes such as \\x1b; what is too long ends with three dots.
    """
    cut = text[: longest + 1]  # first, so that a long text costs no more than a short one
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in cut)
    return cut if len(cut) <= longest else cut[: longest - len(CUT)] + CUT


def bounded(sentences: object, most: int = MOST_SENTENCES) -> list[str]:
    """Return texts of any origin in a form that fits into the descriptor of a session (`messages.Session`):
    shortened, without control characters or repetitions, at most `most` texts.
    """
    told = sentences if isinstance(sentences, list | tuple) else ()
    texts = dict.fromkeys(plain(text) for text in islice(told, most) if isinstance(text, str))
    if len(told) > most:
        texts[f"{len(told) - most} more sentences were left out."] = None
    return list(texts)


def add(counters: dict[str, int], kind: str, n: int) -> None:
    """Add `n` to the counter of a kind, up to 2^63 - 1."""
    counters[kind] = min(counters[kind] + n, LARGEST)


class Sentences:
    """Collection of messages between two calls of `take`: each message once, at most `most` of them."""

    def __init__(self, most: int = MOST_SENTENCES) -> None:
        self._most = most
        self._kept: dict[str, None] = {}
        self._n_more = 0

    def say(self, *sentences: str) -> None:
        """Add messages to the collection."""
        for sentence in map(plain, sentences):
            if sentence in self._kept:
                continue
            if len(self._kept) < self._most:
                self._kept[sentence] = None
            else:
                self._n_more += 1

    def take(self) -> list[str]:
        """Return all collected messages and one on the number of messages left out; then start anew."""
        taken = list(self._kept)
        if self._n_more:
            taken.append(f"{self._n_more} more sentences were left out.")
        self._kept, self._n_more = {}, 0
        return taken


def account(
    session: str,
    counters: Mapping[str, int],
    gauges: Mapping[str, float],
    sentences: Sentences,
    t_ns: int | None = None,
) -> Telemetry:
    """Return a telemetry message, stamped now or at `t_ns`, that can always be encoded.

    Counters stop at 2^63 - 1, and names and sentences are limited in length and number. Numbers of other
    types, such as those of NumPy, are converted; what is no number is left out, and a sentence names it.
    """
    counted, measured = numbers(counters, int, sentences), numbers(gauges, float, sentences)
    return Telemetry(
        session=session,
        t=now_ns() if t_ns is None else t_ns,
        counters={name: max(-LARGEST, min(n, LARGEST)) for name, n in counted.items()},
        gauges=measured,
        text=sentences.take(),
    )


def received(message: Telemetry) -> Telemetry:
    """Return a telemetry message from an unknown sender, reduced to what can be stored and shown."""
    sentences = Sentences(2 * MOST_SENTENCES)  # not to cut again what was cut at the sender
    sentences.say(*message.text)
    return account(message.session, message.counters, message.gauges, sentences, message.t)


def numbers(
    values: Mapping[str, Number], kind: Callable[[Number], Number], sentences: Sentences
) -> dict[str, Number]:
    """Return the first 256 numbers of a map as numbers of one kind, with shortened names without control
    characters; add a sentence for each value that is no such number.
    """
    found = {}
    for name, value in islice(values.items(), MOST_NAMES):
        told = plain(str(name), LONGEST_NAME)
        try:
            found[told] = kind(value)
        except Exception:  # whatever the conversion of a stranger's object does
            sentences.say(f"The value of {told} in the telemetry is not a number and is left out.")
    return found
