"""The outcome of a live run for its exit code and its last message: no usable frame, or no recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtsim.errors import ConfigError
from streams.account import plain

MOST_FLAGS = 3
LONGEST_QUOTE = 160
"""Greatest length of a quoted message of the run, which may list joints and markers [characters]."""


def check_recorded(record: Path | None) -> None:
    """Raise ConfigError if a recording was requested and the run left none."""
    if record is not None and not record.exists():
        raise ConfigError(
            "the run is over and there is no recording: its recorder had not begun, or could not write",
            where=str(record),
            remedy="read the messages of the recorder; on a busy machine keep a processor core free for it, "
            "or record the results with `rtsim record`, started before the run",
        )


def unusable(source: str, summary: dict[str, Any]) -> ConfigError | None:
    """Return the error for a live run without any usable frame, with its flags and their meanings; None if
    some frame is usable, or if none arrived, which is reported during the run.

    summary : summary of `StreamSummary`, which counts the statuses of the frames
    """
    if summary["usable"] or not summary["statuses"]:
        return None
    flags: Counter[str] = Counter()
    for status, n in summary["statuses"].items():
        flags.update(dict.fromkeys(status.split(", "), n))
    common = [flag for flag, _ in flags.most_common(MOST_FLAGS)]
    quoted = [said for said in summary["told"] if any(f" {flag}" in said for flag in common)]
    why = plain(next(iter(quoted or summary["told"]), "").rstrip("."), LONGEST_QUOTE)
    words = ", ".join(f"{flag} {flags[flag]}" for flag in common)
    return ConfigError(
        f"none of {summary['frames']} frames gave usable results ({words})" + (f": {why}" if why else ""),
        where=source,
        remedy="check that the markers of the person are in the stream, and that the subject file belongs to "
        "this person",
    )


def reason_of(
    source: str, summary: dict[str, Any], fault: ConfigError | None, failures: Sequence[str]
) -> str:
    """Return why a live run has no usable results, for --json; "" if it has some.

    fault : error for a run without any usable frame
    failures : messages on processes that failed
    """
    if fault is not None or failures:
        return str(fault) if fault is not None else "; ".join(failures)
    return "" if summary["statuses"] else f"{source}: no frame came while the run lasted"
