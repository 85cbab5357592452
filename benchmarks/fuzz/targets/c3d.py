"""Targets for C3D files: the header, the parameter section, and the whole file by the reader in its own
process.
"""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path

import ezc3d
import numpy as np

from benchmarks.fuzz.forked import forked_content
from benchmarks.fuzz.seeds import NAMES, recordings, walking
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.forces import check_forces
from benchmarks.fuzz.targets.markers import check_trial
from rtsim.files.c3d_bytes.section import Section
from rtsim.files.c3d_bytes.source import open_source
from rtsim.files.forces.c3d_plates import read_c3d_forces
from rtsim.files.gait.events import header_events, read_events
from rtsim.files.markers import c3d
from rtsim.files.markers.c3d import read_c3d
from rtsim.files.markers.c3d_check import check_c3d

BLOCK = 512
PER_FRAME = 10


def c3d_seeds() -> list[bytes]:
    """Return markers with force plates, events and a subject, and the smallest recordings beside the
    checkout.
    """
    return [made(plates=True), made(plates=False), *recordings(".c3d", 400_000, whole=True)]


def made(plates: bool) -> bytes:
    """Return a small file by another writer than ours."""
    file, trial = ezc3d.c3d(), walking()
    n = len(trial.times)
    points = np.ones((4, len(NAMES), n))
    points[:3] = 1e3 * trial.positions.transpose(2, 1, 0)
    file["data"]["points"] = points
    parameters = file["parameters"]
    parameters["POINT"]["RATE"]["value"] = [100.0]
    parameters["POINT"]["LABELS"]["value"] = list(NAMES)
    parameters["POINT"]["UNITS"]["value"] = ["mm"]
    file.add_parameter("SUBJECTS", "NAMES", ["Anna"])
    file.add_parameter("PROCESSING", "Bodymass", [70.0])
    file.add_parameter("EVENT", "USED", [1])
    file.add_parameter("EVENT", "CONTEXTS", ["Right"])
    file.add_parameter("EVENT", "LABELS", ["Foot Strike"])
    file.add_parameter("EVENT", "TIMES", np.array([[0.0], [0.05]]))
    if plates:
        names = ["Fx1", "Fy1", "Fz1", "Mx1", "My1", "Mz1"]
        file["data"]["analogs"] = np.tile(
            np.array([1.0, 2, -700, 10, -20, 1])[:, None], (1, 1, PER_FRAME * n)
        )
        parameters["ANALOG"]["RATE"]["value"] = [100.0 * PER_FRAME]
        parameters["ANALOG"]["LABELS"]["value"] = names
        parameters["ANALOG"]["UNITS"]["value"] = ["N", "N", "N", "Nmm", "Nmm", "Nmm"]
        file.add_parameter("FORCE_PLATFORM", "USED", [1])
        file.add_parameter("FORCE_PLATFORM", "TYPE", [2])
        corners = np.array([[400.0, 600, 0], [0, 600, 0], [0, 0, 0], [400, 0, 0]]).T[..., None]
        file.add_parameter("FORCE_PLATFORM", "CORNERS", corners)
        file.add_parameter("FORCE_PLATFORM", "ORIGIN", np.array([[0.0], [0], [-40]]))
        file.add_parameter("FORCE_PLATFORM", "CHANNEL", np.arange(1.0, 7.0)[:, None])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.c3d"
        file.write(str(path))
        return path.read_bytes()


def feed_c3d(path: Path) -> None:
    """Feed one of the readers, chosen by a checksum of the input, so that an input always meets the same
    reader.
    """
    c3d.read_content = forked_content
    kind = zlib.crc32(path.read_bytes()) % 4
    if kind == 0:
        check_forces(read_c3d_forces(path))
    elif kind == 1:
        found = read_events(path)
        require(all(np.isfinite(event.time) for event in found.events), "an event's time is not a number")
    elif kind == 2:
        source = open_source(path)
        require(source.n_frame > 0 and 0.0 < source.rate < np.inf, "a source without frames")
    else:
        check_trial(read_c3d(path, unnamed=True, virtual=True))


def feed_section(path: Path) -> None:
    """Read header and parameters with our own code, and check that what is read is written again
    identically.
    """
    check_c3d(path)
    data = path.read_bytes()
    for event in header_events(data):
        require(event.label.isprintable(), "a label that cannot be printed")
    section = Section(data[BLOCK * (data[0] - 1) :], str(path))
    keys = [
        (k.key, r.key) for k in section.records if k.group < 0 for r in section.records if r.group == -k.group
    ]
    again = Section(section.written(), str(path))
    for group, name in keys:
        before, after = section.parameter(group, name), again.parameter(group, name)
        require(before == after, "a parameter changes when it is written and read")
        section.texts(group, name)
        section.number(group, name)


TARGETS = (
    FuzzTarget("c3d", feed_c3d, c3d_seeds, suffix=".c3d", seconds=25.0, longest=1 << 19, weight=2.0),
    FuzzTarget("c3d_section", feed_section, c3d_seeds, suffix=".c3d", longest=1 << 19),
)
