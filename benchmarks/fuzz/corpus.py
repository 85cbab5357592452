"""Files of a fuzzing lane in a folder: inputs with new code paths, and findings with how to reproduce
them.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz.judge import FuzzOutcome
from benchmarks.fuzz.target import FuzzTarget

INPUTS, FINDINGS = "inputs", "findings"


class FuzzFinding(NamedTuple):
    """A finding: its target, the outcome, and the file that holds the input."""

    target: str
    kind: str
    place: str
    what: str
    path: str

    @property
    def command(self) -> str:
        """Return the command that reproduces the finding."""
        return f"rtsim bench fuzz --only {self.target} --repeat {self.path}"


class FuzzFolder:
    """The folder of one target within that of a lane."""

    def __init__(self, root: Path, target: FuzzTarget) -> None:
        self._target = target
        self.inputs = root / INPUTS / target.name
        self._findings = root / FINDINGS / target.name
        for folder in (self.inputs, self._findings):
            folder.mkdir(parents=True, exist_ok=True)

    def kept(self) -> list[bytes]:
        """Return earlier inputs with new code paths, in the order of their names."""
        return [path.read_bytes() for path in sorted(self.inputs.iterdir()) if path.is_file()]

    def keep(self, data: bytes) -> None:
        """Store an input with a new code path."""
        (self.inputs / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def report(self, data: bytes, outcome: FuzzOutcome) -> FuzzFinding | None:
        """Save a finding; return None if one of the same place exists, unless this input is shorter."""
        name = hashlib.sha1(f"{outcome.kind} {outcome.place}".encode()).hexdigest()[:12]
        path = self._findings / f"{name}{self._target.suffix or '.bin'}"
        if path.exists() and path.stat().st_size <= len(data):
            return None
        path.write_bytes(data)
        found = FuzzFinding(self._target.name, outcome.kind, outcome.place, outcome.what, str(path))
        path.with_name(f"{name}.json").write_text(
            json.dumps({**found._asdict(), "command": found.command}, indent=1)
        )
        return found

    def findings(self, since: float = 0.0) -> list[FuzzFinding]:
        """Findings in the folder that were saved at this time or later [s]."""
        found = []
        for path in sorted(self._findings.glob("*.json")):
            if path.stat().st_mtime >= since:
                row = json.loads(path.read_text())
                found.append(FuzzFinding(**{key: row[key] for key in FuzzFinding._fields}))
        return found
