"""The verdict on one input that was fed to its reader: the outcome, and whether it is a finding."""

from __future__ import annotations

import re
import time
import unicodedata
import warnings
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz.target import FuzzTarget, NonsenseError
from rtsim.config.former_names import FormerName

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = tuple(f"{ROOT}/{package}/" for package in ("rtsim", "streams", "kernels"))
LONGEST_SENTENCE = 4000
"""Characters of a sentence: what a line of the command line holds."""
UNPRINTABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))
"""Categories of characters that no sentence has: controls, halves of characters, ends of lines."""
TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of writing, by which a text shows other than it says."""


class FuzzOutcome(NamedTuple):
    """The outcome of an input.

    kind : "read", "refused", or that of a finding: "exception", "sentence", "nonsense", "slow", "memory",
        "hang", "crash"
    place : place in the code where it was decided, which distinguishes outcomes
    what : description of a finding, else ""
    seconds : processor time [s]
    """

    kind: str
    place: str
    what: str
    seconds: float

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("read", "refused")


def judged(target: FuzzTarget, data: bytes, folder: Path) -> FuzzOutcome:
    """Feed an input to a target; its file is written into the folder."""
    given: bytes | Path = data
    if target.suffix:
        given = target.path_in(folder)
        given.write_bytes(data)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what NumPy warns of would stand in the user's terminal
        warnings.simplefilter("ignore", FormerName)  # a sentence for the user
        kind, place, what = _fed(target, given)
    seconds = time.process_time() - start
    if kind in ("read", "refused") and seconds > target.seconds:
        kind, place = "slow", f"slow {place}"
        what = f"{seconds:.2f} s of processor time were used, {target.seconds:g} s are allowed"
    return FuzzOutcome(kind, place, what, seconds)


def _fed(target: FuzzTarget, given: bytes | Path) -> tuple[str, str, str]:
    try:
        target.feed(given)
    except target.refusals as error:
        if fault := sentence_fault(str(error)):
            return "sentence", f"{fault} {place_of(error)}", f"{fault}: {str(error)[:200]!r}"
        return "refused", place_of(error), ""
    except NonsenseError as error:
        return "nonsense", re.sub(r"[-+.\d]+", "#", str(error))[:120], str(error)[:400]
    except MemoryError as error:
        return "memory", place_of(error), "more memory was requested than the machine has"
    except RecursionError as error:
        return "exception", f"RecursionError {place_of(error, outermost=True)}", "RecursionError"
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]!r}"
        return "exception", f"{type(error).__name__} {place_of(error)}", what
    return "read", "read", ""


def sentence_fault(text: str) -> str:
    """Return the reason why a text is not a proper message for a user; "" if it is one."""
    if not text.strip():
        return "an empty message"
    if len(text) > LONGEST_SENTENCE:
        return "a message that is too long"
    if text.isascii() and text.isprintable():
        return ""
    if any(unicodedata.category(c) in UNPRINTABLE or c in TURNING for c in text):
        return "a message with characters that cannot be printed"
    return ""


def place_of(error: BaseException, outermost: bool = False) -> str:
    """Return file and line of the project in which an error was raised, the innermost one, or with
    `outermost` the outermost one.
    """
    found, last = [], ""
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        last = f"{name.rpartition('/')[2]}:{step.tb_lineno}"
        if name.startswith(FOLDERS):
            found.append(f"{name.removeprefix(f'{ROOT}/')}:{step.tb_lineno}")
        step = step.tb_next
    if found:
        return found[0] if outermost else found[-1]
    return last
