"""Texts of strangers that are long and almost fit: patterns that would look through them for hours do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
N = 1_000_000
"""Characters, for which a time that grows with their square would be hours."""
GUARD_S = 120.0
READ = {
    "a label of Lab Streaming Layer": """
from streams.capture.lsl.channels import LslChannel, force_channels, marker_channels
channels = [LslChannel("_" * N + "!")]
assert marker_channels(channels, 1).names == force_channels(channels).names == ()
""",
    "comments without an end": """
from rtsim.files.subject_files.read import rows_of_mp
assert rows_of_mp(b"$A = 1\\n" + b"{*" * (N // 2), "") == [("$A", "", 1.0)]
""",
    "spaces behind a value": """
from rtsim.files.subject_files.read import rows_of_mp
[(name, _, value)] = rows_of_mp(b"$A = 1" + b" " * N + b"2", "")
assert name == "$A" and value != value
""",
    "spaces behind the number of rows": """
from rtsim.files.tables.storage import N_ROW
assert N_ROW.match("nRows" + " " * N + "x") is None
""",
    "digits of a time, in a list of emed": """
from rtsim.files.pressure.emed import SIZE, STEP
assert STEP.search("Time/picture: " + "1" * N) is SIZE.search("Sensor size: " + "1" * N) is None
""",
    "digits of a rate, in a file of forces": """
from rtsim.files.forces.cortex_forces import ENTRY
assert ENTRY.match("SampleRate=" + "1" * N + "x") is None
""",
    "a beginning that all names share": """
from rtsim.subjects.markers.marker_names import without_shared
assert without_shared(["a" * N + "_1", "a" * N + "_2"]) == ["1", "2"]
""",
}


@pytest.mark.parametrize("what", READ)
def test_long_texts_are_read_at_once(what: str) -> None:
    """Protects from a label or a file of a megabyte that keeps a program busy for hours."""
    code = f"N = {N}\n{READ[what]}"
    subprocess.run(
        [sys.executable, "-c", code], timeout=GUARD_S, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
