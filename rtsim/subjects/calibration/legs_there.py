"""Calibration of both legs of a person, or of the only one that has markers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.subjects.both_sides import MIDDLE, join
from rtsim.subjects.calibration import proportions
from rtsim.subjects.feet.foot_without_toe import WITHOUT_TOE
from rtsim.subjects.markers.labs import ENOUGH, SIDES, Coverage
from rtsim.subjects.subject import Subject


def legs_that_are_there(
    leg: Callable[[str], Subject], covered: Callable[[str], Coverage], *, all_of_them: bool
) -> Subject:
    """Return the subject of both legs, or of the only leg that can be calibrated, with a note on why the
    other one cannot.

    leg, covered : functions that calibrate the leg of one side, and that count its markers in the trial
    all_of_them : whether a leg that cannot be calibrated raises ConfigError
    """
    found: dict[str, Subject] = {}
    faults: dict[str, ConfigError] = {}
    for side in SIDES:
        try:
            there = covered(side)
            if there.share < ENOUGH and not all_of_them:
                raise ConfigError(
                    f"the trial lacks these markers of the leg: {name_some(there.missing)}", where=side
                )
            found[side] = leg(side)
        except ConfigError as fault:
            faults[side] = fault
    if len(found) == 2 and any(MIDDLE not in subject.segments for subject in found.values()):
        if all_of_them:
            raise ConfigError(
                "the pelvis, which joins both legs, has no markers", where="side", allowed="right, left",
                remedy="solve one leg at a time, or put markers on the pelvis",
            )  # fmt: skip
        right = found["right"]
        note = (
            "only one leg is solved, because the pelvis, which joins both legs, has no markers; solve "
            "the other leg with --side left"
        )
        return msgspec.structs.replace(right, notes=(*right.notes, note))
    if len(found) == 2:
        by_side = {subject.side: subject for subject in found.values()}
        if len(by_side) == 2 or all_of_them:
            both = join(by_side.get("right", found["right"]), by_side.get("left", found["left"]))
            return msgspec.structs.replace(
                both, notes=(*both.notes, *notes_on_legs(by_side["right"], by_side["left"]))
            )
        right = found["right"]
        if found["left"].marker_names == right.marker_names:  # a map of one leg
            return right
        note = (
            "only one leg is solved, because the legs labelled right and left both stand on the "
            f"{right.side} of the body"
        )
        return msgspec.structs.replace(right, notes=(*right.notes, note))
    if all_of_them or not found:
        raise next(iter(faults.values()))
    ((missing, why),) = faults.items()
    subject = next(iter(found.values()))
    return msgspec.structs.replace(subject, notes=(*subject.notes, f"no {missing} leg: {why}"))


def notes_on_legs(right: Subject, left: Subject) -> list[str]:
    """Return notes on legs of different lengths; ConfigError if the difference is impossible for a person."""
    of_right, of_left = (
        {name: 1e-3 * segment.length_mm for name, segment in subject.segments.items()}
        for subject in (right, left)
    )
    if any(WITHOUT_TOE in subject.notes for subject in (right, left)):
        del of_right["foot"]  # which is as long as goes with the shank
    return proportions.check_legs(of_right, of_left, right.source)
