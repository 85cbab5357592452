"""Files for the command line's tests, and which command reads a file of which kind."""

from __future__ import annotations

from pathlib import Path

from tests.rtsim.studies.impacts import impacts

REPLAY = ("--address", "tcp://127.0.0.1:0", "--wait", "0", "--speed", "1000")
SUFFIXES = (".trc", ".c3d", ".mcap", ".npz", ".toml", ".osim")
TRC = (
    "PathFileType\t4\t(X/Y/Z)\ta.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "{rate}\t100\t3\t{n_marker}\tmm\t100\t1\t3\n"
    "Frame#\tTime\tRASI\t\t\tRHEE\t\t{more}\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
    "1\t{start}\t1\t950\t2\t1\t30\t2\n"
    "2\t{start}1\t1\t950\t2\t1\t30\t2\n"
    "3\t{start}2\t1\t950\t2\t1\t30\t2\n"
)
STUDY = impacts(step=(0.08, 0.16))
"""A study of two impacts."""


def trc(rate: str = "100", n_marker: str = "2", more: str = "", start: str = "0.0") -> str:
    return TRC.format(rate=rate, n_marker=n_marker, more=more, start=start)


def command_for(name: str) -> tuple[str, ...]:
    """A command that reads a file of this suffix."""
    return {
        ".toml": ("check", name),
        ".mcap": ("export", name, "out.csv"),
        ".osim": ("moment-arms", name, "--muscle", "a", "--angle", "b"),
    }.get(Path(name).suffix, ("replay", name, *REPLAY))
