"""Targets for tables and records of other origin: norms, measures of a person, motions, stored tunings and
studies.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from benchmarks.fuzz.seeds import recordings, written
from benchmarks.fuzz.target import FuzzTarget, require
from benchmarks.fuzz.targets.markers import check_notes
from rtsim.files.norms.foreign import read_foreign
from rtsim.files.norms.norm_set import KEYS, LARGEST_DEG, N_POINT, NormCurve, NormSet, read_norms, write_norms
from rtsim.files.subject_files.read import read_measures
from rtsim.methods.generators.joint_motion import read_joint_motion
from rtsim.methods.knee.knee_motion import read_knee_motion
from rtsim.tuning.kept import KeptTuning, read_kept

PERCENT = np.linspace(0.0, 100.0, 21)
KNEE = ("knee_flexion", "knee_adduction", "knee_internal_rotation", "lateral", "anterior", "proximal")


def gcd_seeds() -> list[bytes]:
    lines = ["#!DST-0.GCD made up", "$LastName", "Nobody"]
    for k, title in enumerate(("PelvicTilt", "KneeFlexExt", "KneePower")):
        lines += [f"!{title}", *(f"{k + x:.3f}\t2.0" for x in PERCENT)]
    return ["\r\n".join(lines).encode()]


def csv_seeds() -> list[bytes]:
    head = "variable,percent,mean,sd\n"
    rows = "".join(
        f"{name},{x:g},{x / 2:g},1.5\n" for name in ("hip_flexion", "step_length") for x in PERCENT
    )
    return [(head + rows).encode(), (head + rows).replace(",", ";").encode()]


def feed_foreign(path: Path) -> None:
    found = read_foreign(path)
    require(bool(found.curves), "norms without a curve")
    check_curves(dict(found.curves))
    check_notes(found.notes)


def check_curves(curves: dict[str, NormCurve]) -> None:
    """Check curves as a report needs them."""
    for curve in curves.values():
        for values in (curve.mean, curve.deviation):
            require(values.shape == (N_POINT,), "a curve has a wrong number of points")
            require(bool((np.abs(values) <= LARGEST_DEG).all()), "an angle beyond the largest one")
        require(bool((curve.deviation >= 0.0).all()), "a deviation below zero")


def norm_set() -> NormSet:
    curve = NormCurve(np.linspace(0.0, 60.0, N_POINT), np.full(N_POINT, 2.0))
    return NormSet(name="made up", convention="isb", curves={"knee_flexion": curve}, source="seed",
                   licence="none", n_person=3, n_stride=9)  # fmt: skip


def norm_seeds() -> list[bytes]:
    return [written(".toml", lambda path: write_norms(path, norm_set()))]


def feed_norms(path: Path) -> None:
    """Read norms and check that they are written and read again identically."""
    norms = read_norms(path)
    check_curves(dict(norms.curves))
    write_norms(path, norms)
    again = read_norms(path)
    require(
        all(getattr(again, key) == getattr(norms, key) for key in KEYS if key != "curves"),
        "norms change in a file",
    )
    require(min(norms.n_person, norms.n_stride) >= 0, "a negative number of persons or strides")
    require(bool(norms.words), "norms without words")


VSK = (
    '<?xml version="1.0"?><KinematicModel MODEL="PlugInGait"><Parameters>'
    '<Parameter NAME="x" VALUE="1"/><StaticParameter NAME="Bodymass" QUANTITY="Mass" VALUE="72"/>'
    '<StaticParameter NAME="LKneeWidth" QUANTITY="Length" VALUE="105"/>'
    '<StaticParameter NAME="LTibialTorsion" QUANTITY="Angle" VALUE="0.1"/></Parameters></KinematicModel>'
)
MP = "{*measures*}\n$Bodymass = 72.0\n$LKneeWidth = 105\n$Offset = {1,2,3}\n$LTibialTorsion = 0.1\n"


def feed_measures(path: Path) -> None:
    found = read_measures(path)
    require(all(map(np.isfinite, found.values.values())), "a measure is not a number")
    require(found.values.keys() == found.units.keys(), "a measure without a unit")
    check_notes(found.notes)


def motion_seeds() -> list[bytes]:
    """Return a motion of a knee, and of a joint with its moment, as CSV tables."""
    rows = [[k / 100.0, 10.0 + k, 1.0, 2.0, 0.001, 0.002, 0.03] for k in range(20)]
    knee = [",".join(("time", *(f"{n} [deg]" if "knee" in n else f"{n} [m]" for n in KNEE)))]
    knee += [",".join(f"{x:.4f}" for x in row) for row in rows]
    joint = ["time,knee,knee_moment", *(f"{k / 100.0},{k},5" for k in range(20))]
    return ["\n".join(lines).encode() for lines in (knee, joint)]


def feed_motion(path: Path) -> None:
    """Read a motion of a knee, or else of joints."""
    table = path.read_bytes()
    if b"adduction" in table[:400]:
        found = read_knee_motion(path, "right")
        check_notes(found.notes)
        return
    motion = read_joint_motion(path, ("knee", "ankle"))
    require(bool(np.isfinite(motion.angle).all()), "an angle is not a number")


def kept_seeds() -> list[bytes]:
    kept = KeptTuning(config="ankle", method="cma", seed=1, parameters={"stiffness": [0.0, 5.0]}, cost="work")
    return [msgspec.json.encode(kept)]


def feed_kept(path: Path) -> None:
    read_kept(path)


TARGETS = (
    FuzzTarget("gcd", feed_foreign, gcd_seeds, form="text", suffix=".gcd", weight=0.5),
    FuzzTarget("norm_csv", feed_foreign, csv_seeds, form="text", suffix=".csv", weight=0.5),
    FuzzTarget("norms", feed_norms, norm_seeds, form="toml", suffix=".toml", weight=0.5),
    FuzzTarget("vsk", feed_measures, lambda: [VSK.encode(), *recordings(".vsk", 30_000)], form="markup",
               suffix=".vsk", weight=0.5),
    FuzzTarget("mp", feed_measures, lambda: [MP.encode()], form="text", suffix=".mp", weight=0.5),
    FuzzTarget("motion", feed_motion, motion_seeds, form="text", suffix=".csv"),
    FuzzTarget("kept", feed_kept, kept_seeds, form="text", suffix=".json", weight=0.5),
)  # fmt: skip
