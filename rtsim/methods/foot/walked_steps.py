"""The complete steps of a recorded walk, prepared for a contact model; unusable steps, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.forces.forces import read_forces
from rtsim.files.formats import FORCES, has_format, suffixes
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.methods.foot.foot_steps import FEET, body_weight, find_steps, usable
from rtsim.methods.foot.foot_trial import FootTrial, prepare_step
from rtsim.methods.plates.plate_check import PlateFinding, check_plates
from rtsim.methods.plates.plate_loads import PlateLoads, plate_loads
from rtsim.subjects.feet.foot_lines import foot_lines
from rtsim.subjects.markers.labs import lab_of, load_lab
from rtsim.subjects.markers.persons import read_one, share_of_labs

Array = NDArray[np.float64]

BESIDE = ("", "_grf", "_forces")
"""Endings, after the name of a trial, of the file of its forces."""
NOT_FATAL = ("weight", "side", "two_feet")
"""Findings about plates that are only reported; with others the forces under the foot would be wrong."""


class WalkedSteps(NamedTuple):
    """Steps of one recording.

    steps : complete footsteps, at most one for each plate, by the name of the plate
    left_out : sentences on incomplete contacts
    notes : sentences on the recording
    """

    steps: dict[str, FootTrial]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def walked_steps(
    path: str | Path,
    forces: str | Path | None = None,
    *,
    lab: str = "",
    mass: float | None = None,
    up: str | None = None,
    units: str | None = None,
    static: MarkerTrial | None = None,
    person: str = "",
) -> WalkedSteps:
    """Find and prepare the complete steps of a recorded walk with force plates.

    forces : file of the plate forces; None = the recording itself (C3D), or the file with the same name in
      its folder
    lab : name of the marker map, which states the landmark of each marker; "" = it is found by the names of
        the markers
    mass : mass of the person [kg]; None = from strides that are completely on plates
    up, units : axis that points up, and unit of length, after a comma that of the plates' moments, for
        markers and forces; None = as the files state them
    static : a trial of the person standing, for landmarks that the walk does not show
    person : the person, if the recording has several

    Raises ConfigError if there are no plates, if their forces are implausible, if no footstep is complete, or
    if both feet seem to be of the same side.
    """
    trial = read_one(path, share_of_labs(load_lab(lab) if lab else None), person, up, units, strict=True)
    plates = read_forces(forces or _beside(Path(path)), up=up, units=units, markers=trial)
    table = lab_of(lab, trial.names)
    feet = foot_lines(trial, table)
    if not np.isfinite(feet).any():
        raise ConfigError(
            f"no frame shows the heel and forefoot markers of the marker map {table.name}", where=str(path),
            remedy="check the names of the markers, or give another --lab",
        )  # fmt: skip
    half = 0.5 / trial.rate
    loads = plate_loads(plates, trial.times, feet, before=half, after=half)
    told = _checked(trial, plates, loads, feet, mass)
    found = find_steps(loads, plates.names)
    left_out = tuple(f"{plates.names[step.plate]}: {step.fault}" for step in found if step.fault)
    if not usable(found):
        reasons = (
            "; ".join(left_out)
            or f"no plate is loaded for as long as a step lasts ({name_some(plates.names)})"
        )
        raise ConfigError(
            f"the trial contains no complete footstep on a force plate: {reasons}",
            where=str(path),
            remedy="take another trial",
        )
    weight, of = body_weight(loads, mass, str(path))
    steps: dict[str, FootTrial] = {}
    unseen: list[ConfigError] = []
    sides: list[tuple[str, str]] = []
    for step in usable(found):
        name = plates.names[step.plate]
        if name in steps:
            second = f"{name}: a second footstep on this plate, of the {FEET[step.foot]} foot, is not used"
            left_out = (*left_out, second)
            continue
        try:
            steps[name] = prepare_step(trial, plates, loads, feet, table, step, weight, static)
        except ConfigError as error:
            unseen.append(error)
            left_out = (*left_out, f"{name}: {error.what}")
            continue
        sides.append((FEET[step.foot], steps[name].side))
    if not steps:
        raise unseen[0]
    check_sides(sides, str(path))
    notes = (
        *trial.notes,
        *plates.notes,
        *told,
        f"weight {weight:.1f} N, {of}",
    )
    return WalkedSteps(steps, left_out, notes)


def check_sides(sides: Sequence[tuple[str, str]], where: str) -> None:
    """Raise ConfigError if two steps of a walk disagree on which foot is the right one.

    sides : for each step the side by the marker labels, and the side by the positions of the markers
    """
    found = sorted(set(sides))
    if len({label for label, _ in found}) < len(found) or len({side for _, side in found}) < len(found):
        said = ", ".join(
            f"markers of the foot labelled {label} lie as on a {side} foot" for label, side in found
        )
        raise ConfigError(
            f"the steps disagree on which foot is the left and which the right: {said}", where=where,
            remedy="check medial and lateral, and right and left, of the labels of the feet",
        )  # fmt: skip


def _beside(path: Path) -> Path:
    """Find the file with the forces of a trial; ConfigError if there is no such file."""
    if has_format(path, FORCES):
        return path
    for ending in BESIDE:
        for suffix in suffixes(FORCES):
            if suffix == ".xml":  # of OpenSim, which has many kinds
                continue
            other = path.with_name(f"{path.stem}{ending}{suffix}")
            if other.is_file():
                return other
    raise ConfigError(
        "the trial has no force plates, but foot contact parameters are identified from measured forces",
        where=str(path),
        allowed="force plates in the trial, or in its folder a file of forces with the name of the trial, "
        f"alone or followed by {' or '.join(BESIDE[1:])}",
        remedy="give --forces with a file of forces",
    )


def _checked(
    trial: MarkerTrial, plates: ForceTrial, loads: PlateLoads, feet: Array, mass: float | None
) -> list[str]:
    """Check whether the plate forces of a walk fit the person's feet, and the mass [kg] if it is known;
    return sentences on what is unusual. ConfigError for a fault with which the forces cannot be right.

    feet : (n, 2, 2, 3) heel and tip of the toes of the right and the left foot [m]
    """
    findings = check_plates(
        plates.names,
        plates.plates,
        loads.force,
        loads.moment,
        trial.times,
        feet,
        mass,
    )
    fatal = [finding for finding in findings if finding.name not in NOT_FATAL]
    if fatal:
        raise ConfigError(" ".join(_once(fatal, plates.names)), where=plates.source)
    return [finding.sentence for finding in findings]


def _once(findings: Sequence[PlateFinding], names: Sequence[str]) -> list[str]:
    """Merge findings of the same kind into one sentence: that of the first plate, followed by the names of
    the other plates.
    """
    kinds: dict[str, list[PlateFinding]] = {}
    for finding in findings:
        kinds.setdefault(finding.name, []).append(finding)
    said = []
    for first, *others in kinds.values():
        alike = name_some([names[other.plate] for other in others])
        said.append(f"{first.sentence} The same holds for {alike}." if others else first.sentence)
    return said
