"""Comparison of a recording, read by three readers, with what a witness has received."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner
from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.records import Message
from mcap.stream_reader import CRCValidationError, StreamReader

from benchmarks.kills.witness import Digest, digest
from streams.recording.background_writer import SYNC_S

FLUSH_MS = 1e3 * SYNC_S
"""Longest time of messages that may be lost at a kill [ms]."""


class KillVerdict(NamedTuple):
    """Losses of a recording by a kill.

    n_expected : messages heard since the recording's first one; n_lost : of these, not in it, however young
    lost_ms : age of the oldest of them at the kill, 0 without one
    readers : whether the library's stream reader and the file of `rtsim recover` have the same
    faults : sentences on what is not as it must be
    """

    n_expected: int
    n_lost: int
    lost_ms: float
    faults: tuple[str, ...]


def judged(path: Path, heard: Sequence[tuple[int, Digest]], kill_ns: int) -> KillVerdict:
    """Judge a recording as found after a kill at a time [ns]; the file is copied first."""
    copy = path.with_suffix(".copy.mcap")
    shutil.copyfile(path, copy)
    out = path.with_suffix(".recovered.mcap")
    faults: list[str] = []
    try:
        plain = plainly_read(copy, faults)
        recovered = recovered_from(copy, out, faults)
    finally:
        copy.unlink()
        out.unlink(missing_ok=True)
    if set(plain) != set(recovered):
        faults.append(
            f"a reader without recovery finds {len(plain)} messages, `rtsim recover` {len(recovered)}"
        )
    kept = set(plain) & set(recovered)
    first = next((k for k, (_, one) in enumerate(heard) if one in kept), len(heard))
    expected = [(t_ns, one) for t_ns, one in heard[first:] if t_ns <= kill_ns]
    lost = [t_ns for t_ns, one in expected if one not in kept]
    lost_ms = 1e-6 * (kill_ns - lost[0]) if lost else 0.0
    if lost_ms > FLUSH_MS:
        old = sum(kill_ns - t_ns > 1e6 * FLUSH_MS for t_ns in lost)
        faults.append(f"{old} messages older than {FLUSH_MS:g} ms are lost, the oldest of {lost_ms:.0f} ms")
    return KillVerdict(len(expected), len(lost), lost_ms, tuple(faults))


def plainly_read(path: Path, faults: list[str]) -> list[Digest]:
    """All messages that the library's stream reader gives, with checksums verified."""
    found: list[Digest] = []
    with path.open("rb") as file:
        try:
            for record in StreamReader(file, validate_crcs=True).records:
                if isinstance(record, Message):
                    found.append(digest(record.data))
        except EndOfFile:
            pass
        except CRCValidationError as error:
            faults.append(f"a reader without recovery finds the file damaged ({error})")
    return found


def recovered_from(path: Path, out: Path, faults: list[str]) -> list[Digest]:
    """All messages of the whole file that `rtsim recover` makes, by the library's reader of whole files."""
    from rtsim.cli.main import cli

    done = CliRunner().invoke(cli, ["recover", str(path), str(out)])
    if done.exit_code:
        faults.append(f"rtsim recover: {done.output.strip() or done.exception}")
        return []
    if "damaged" in done.output:
        faults.append(f"rtsim recover: {done.output.strip()}")
    whole = out if out.exists() else path  # one that was closed meanwhile is left as it is
    with whole.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        if reader.get_summary() is None:
            faults.append("the recovered file has no index")
        return [digest(message.data) for _, _, message in reader.iter_messages(log_time_order=False)]
