"""Benchmark of persons recorded on force plates, by `rtsim analyse` or `rtsim live`: how often the centre of
pressure is under the foot, peak joint moments, weight, and residual at the pelvis.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rtsim.bench.figures import BenchFigure, say
from rtsim.errors import ConfigError
from rtsim.files.recording import read_results
from rtsim.methods.plates.kinetic_figures import kinetic_figures
from rtsim.methods.plates.plate_check import UNDER, WEIGHT_OFF


class Recording(NamedTuple):
    """The files of one recording, relative to the folder of recordings: markers, forces (a C3D file contains
    its own), static trial.

    mass_kg : mass of the person, as published or weighed on the plates; an assumed one where the recording
        has none
    """

    source: str
    forces: str
    static: str
    mass_kg: float


BMC, MCGILL, LENHART, OPENSIM, OPENCAP = (
    "gait_bmc", "gait_mcgill", "gait_lenhart", "gait_opensim/gait2354", "squat_opencap",
)  # fmt: skip
RECORDINGS = {
    **{f"bmc.{n}": Recording(f"{BMC}/{n}.trc", f"{BMC}/{n}.forces", "", 75.0) for n in ("walk1", "walk2")},
    **{
        f"mcgill.{who}_{n}": Recording(f"{MCGILL}/{who}_{n}.c3d", "", f"{MCGILL}/{who}_static.c3d", mass)
        for who, mass, trials in (
            ("HC002D", 32.1, ("static", "straight")), ("HC030A", 45.8, ("static", "straight", "turn")),
        )
        for n in trials
    },
    "lenhart.walk": Recording(
        f"{LENHART}/overground_17.trc", f"{LENHART}/overground_17_grf.mot", f"{LENHART}/static1.trc", 65.0
    ),
    "opensim.walk": Recording(
        f"{OPENSIM}/subject01_walk1.trc", f"{OPENSIM}/subject01_walk1_grf.mot",
        f"{OPENSIM}/subject01_static.trc", 72.6,
    ),
    **{
        f"opencap.{n}": Recording(
            f"{OPENCAP}/{n}.trc", f"{OPENCAP}/{n}_grf.mot", f"{OPENCAP}/static1.trc", 60.03
        )
        for n in ("static1", "walking1", "squats1", "STS1")
    },
}  # fmt: skip
"""Masses of bmc and lenhart are assumed, those of mcgill and opensim come with the recording, that of opencap
was weighed on the plates of static1."""


def run(folder: Path, live: bool = False, only: str = "*", side: str = "") -> list[BenchFigure]:
    """Return the benchmark results of the recordings below a folder; missing recordings are reported, and
    ConfigError is raised if all are missing.

    live : whether they go through player, estimator and recorder over sockets at the recorded pace (`rtsim
        live`); else they are analysed as fast as possible (`rtsim analyse`)
    only : pattern of the recordings' names; side : legs to solve, as the option --side of the commands; "" =
        default
    """
    wanted = {name: recording for name, recording in RECORDINGS.items() if fnmatch(name, only)}
    if not wanted:
        raise ConfigError(
            f"no recording is named {only!r}",
            where="--only",
            allowed=", ".join(RECORDINGS),
            remedy="give a pattern that matches one of these names",
        )
    if not any((folder / recording.source).is_file() for recording in wanted.values()):
        first = next(iter(wanted.values())).source
        raise ConfigError(
            f"none of the {len(wanted)} recordings was found; the first one is {first}", where=str(folder),
            remedy="give the folder that contains the recordings",
        )  # fmt: skip
    figures, n_failed = [], 0
    for name, recording in wanted.items():
        if not (folder / recording.source).is_file():
            say(f"recordings: the recording {name} is missing")
            continue
        say(f"recordings: {name}")
        arguments = arguments_of(folder, recording) + (["--side", side] if side else [])
        found = (by_live if live else by_analyse)(str(folder / recording.source), arguments)
        if found is None:
            n_failed += 1
        else:
            figures += figures_of(name, found)
    return [*figures, BenchFigure("failed", float(n_failed), "recordings", 0.0, "lower")]


def arguments_of(folder: Path, recording: Recording) -> list[str]:
    """Return the options of `rtsim analyse` and `rtsim live` for a recording: files of forces and static
    trial, below the folder, and the mass of the person.
    """
    files = {"--forces": recording.forces, "--static": recording.static}
    given = [x for option, path in files.items() if path for x in (option, str(folder / path))]
    return [*given, "--mass", str(recording.mass_kg)]


def by_analyse(source: str, arguments: list[str]) -> dict[str, Any] | None:
    """Analyse a recording by `rtsim analyse` as fast as possible and return its kinetic results; None if the
    command fails; source : marker file; arguments : further options of the command
    """
    done = called("analyse", source, *arguments, "--json")
    figures: dict[str, Any] | None = json.loads(done)["kinetics"] if done else None
    return figures


def by_live(source: str, arguments: list[str]) -> dict[str, Any] | None:
    """Run `rtsim live` on a recording at its recorded pace, over sockets, and return its kinetic results;
    None if the command fails; source : marker file; arguments : further options of the command
    """
    with TemporaryDirectory() as folder:
        record = Path(folder) / "live.mcap"
        anywhere = ["--results", "tcp://127.0.0.1:0", "--control", "tcp://127.0.0.1:0"]
        done = called("live", "--source", source, *arguments, *anywhere, "--record", str(record), "--json")
        return kinetic_figures(read_results(record)) if done else None


def called(*arguments: str) -> str:
    """Run an rtsim command and return its output; if it fails, print the end of its messages and
    return "".
    """
    command = [sys.executable, "-m", "rtsim.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        say(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no output")
        return ""
    return done.stdout


def figures_of(name: str, found: dict[str, Any]) -> list[BenchFigure]:
    """Return the benchmark results of one recording with their limits; results that the recording cannot give
    are left out; found : the kinetic results of `rtsim analyse --json`
    """
    figures = []
    if found["under"] is not None:
        figures.append(BenchFigure(f"under.{name}", found["under"], "1", UNDER, "higher"))
    figures += [
        BenchFigure(f"under.{side}.{name}", foot["under"], "1")
        for side, foot in found["feet"].items() if foot["loaded"]
    ]  # fmt: skip
    figures += [BenchFigure(f"{flag}.{name}", float(n), "readings") for flag, n in found["flagged"].items()]
    peaks = found.get("peaks", {})
    for muscles, peak in peaks.items():
        figures.append(BenchFigure(f"{muscles.replace(' ', '_')}.{name}", peak["value"], "N m/kg"))
    if any("within" in peak for peak in peaks.values()):
        outside = sum(not peak["within"] for peak in peaks.values())
        figures.append(BenchFigure(f"peaks_not_as_published.{name}", float(outside), "1", 0.0, "lower"))
    if found.get("weight"):
        off = abs(found["weight"]["off"])
        figures.append(BenchFigure(f"weight_off.{name}", off, "of the weight", WEIGHT_OFF, "lower"))
    if found.get("residual"):
        left = found["residual"]
        for key, unit in (("most_force", "body weights"), ("most_moment_m", "body weights m"),
                          ("not_in_model", "of the mass"), ("unexplained_up", "body weights")):  # fmt: skip
            if left[key] is not None:
                figures.append(BenchFigure(f"residual_{key}.{name}", left[key], unit))
    return figures
