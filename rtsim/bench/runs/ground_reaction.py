"""Benchmark of the ground reaction computed from the motion of the whole body, beside force plates: persons
with markers on the trunk.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rtsim.bench.figures import BenchFigure, say
from rtsim.bench.markers.recordings import RECORDINGS, arguments_of, called
from rtsim.errors import ConfigError

TOTAL = 0.08
"""Limit of the root mean square error of the whole body's vertical force, relative to the weight."""
ASKED = ("mcgill.HC002D_straight", "mcgill.HC030A_straight", "mcgill.HC030A_turn", "opencap.static1",
         "opencap.walking1", "opencap.squats1")  # fmt: skip
SHOWN = ("opencap.STS1",)
"""Recordings without limits, as a chair carries a part of the weight."""


def run(folder: Path) -> list[BenchFigure]:
    """Return the benchmark results of the computed ground reaction for the recordings below a folder;
    ConfigError if all are missing.
    """
    there = [name for name in (*ASKED, *SHOWN) if (folder / RECORDINGS[name].source).is_file()]
    if not there:
        raise ConfigError(
            f"none of the recordings was found; the first one is {RECORDINGS[ASKED[0]].source}",
            where=str(folder),
            remedy="give the folder that contains the recordings",
        )  # fmt: skip
    figures: list[BenchFigure] = []
    for name in there:
        say(f"ground-reaction: {name}")
        source = str(folder / RECORDINGS[name].source)
        arguments = arguments_of(folder, RECORDINGS[name])
        done = called(
            "analyse", source, *arguments, "--config", "foot", "--set", "level=whole_body", "--json"
        )
        figures += figures_of(name, json.loads(done)["kinetics"]) if done else [failed(name)]
    return figures


def failed(name: str) -> BenchFigure:
    """Return the benchmark result that marks a recording on which `rtsim analyse` failed."""
    return BenchFigure(f"failed.{name}", 1.0, "recordings", 0.0, "lower")


def figures_of(name: str, kinetics: dict[str, Any]) -> list[BenchFigure]:
    """Return the root mean square errors of the computed ground reaction of one recording, and the peak joint
    moments that are computed without force plates; kinetics : the results of `rtsim analyse --json`
    """
    found, figures = kinetics["reaction"], []
    limit, better = (TOTAL, "lower") if name in ASKED else (None, "")
    if found["total"]:
        figures.append(BenchFigure(f"total.{name}", found["total"]["rms"], "of the weight", limit, better))
    for side, one in found["feet"].items():
        if one:
            figures.append(BenchFigure(f"{side}_foot.{name}", one["rms"], "of the weight"))
    for key in ("share", "share_of_both"):
        if found.get(key):
            figures.append(BenchFigure(f"{key}.{name}", found[key]["rms"], "1"))
    for key in ("along", "across"):
        for side, one in found.get(key, {}).items():
            if one:
                figures.append(BenchFigure(f"centre_{key}.{side}.{name}", 1e3 * one["rms"], "mm"))
    for muscles, peak in kinetics.get("peaks", {}).items():
        figures.append(BenchFigure(f"{muscles.replace(' ', '_')}.{name}", peak["value"], "N m/kg"))
    return figures
