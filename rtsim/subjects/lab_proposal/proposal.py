"""All steps from a static trial to a proposed marker map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial, name_some
from rtsim.subjects.lab_proposal.body_pose import GATE, SLOTS, StandingPose, all_costs, find_pose, leg_frames
from rtsim.subjects.lab_proposal.landmark_places import PLACES
from rtsim.subjects.lab_proposal.lateral_markers import lateral_roles
from rtsim.subjects.lab_proposal.marker_reading import COMPUTED_POINT, NameReading, read_name
from rtsim.subjects.lab_proposal.proposed_map import ProposedMap, in_movement, propose_map, trunk_of
from rtsim.subjects.lab_proposal.proposed_roles import MarkerRole, doubted, propose_roles
from rtsim.subjects.lab_proposal.proposed_segments import FollowedMarker, followed_markers
from rtsim.subjects.lab_proposal.standing_markers import StandingMarkers, standing_markers
from rtsim.subjects.markers.marker_names import without_shared

NO_NAMES = re.compile(r"^(\*\d+|unnamed_\d+|unlabel+ed_?\d*|\d+)$", re.IGNORECASE)
"""Pattern of labels that programs give to unnamed trajectories, for another marker in each trial."""
NUMBERED = re.compile(r"^[A-Za-z]{1,6}[_ .-]?\d{1,4}$")
"""Names that say nothing but a number: M001, Marker 12."""
MOSTLY = 0.8
FAR, KNEES, FEWEST_OTHERS = 0.2, 0.26, 4
"""Distance from the lines of the legs and height of the knees, divided by the stature, and number of markers:
if so many markers below the knees are farther away, they belong to another person."""
FEWEST_NAMED = 4
"""With fewer names of landmarks it is not judged whether the names fit a standing person."""
Array = NDArray[np.float64]


class LabProposal(NamedTuple):
    """The marker map proposed for a static trial, and how it was found.

    standing : the markers of the standing person; pose : standing pose of the person
    roles : roles of the markers, such as "calcaneus"; followed : markers tracked in movement
    proposed : the map; told : notes on omissions and on the whole map
    """

    standing: StandingMarkers
    pose: StandingPose
    roles: tuple[MarkerRole, ...]
    followed: tuple[FollowedMarker, ...]
    proposed: ProposedMap
    told: tuple[str, ...]


def propose(trial: MarkerTrial, name: str, movement: MarkerTrial | None = None) -> LabProposal:
    """Propose the marker map of a static trial in ground axes (Y up) [m].

    name : name of the map; movement : trial of the same marker set that shows which markers are tracked.
        ConfigError if nobody stands in the trial, and for markers without names.
    """
    told = check_names(trial.names, trial.source)
    standing = without_beginning(standing_markers(trial, trial.source))
    readings = [read_name(marker) for marker in standing.names]
    real = [k for k, reading in enumerate(readings) if reading.segment != COMPUTED_POINT]
    computed = [standing.names[k] for k, reading in enumerate(readings) if reading.segment == COMPUTED_POINT]
    if computed:
        told.append(
            f"markers left out, because their names show that they are computed points: {', '.join(computed)}"
        )
    names, points = [standing.names[k] for k in real], standing.points[real]
    readings = [readings[k] for k in real]
    pose, doubts = pose_by_names(points, readings)
    told += doubts
    found = propose_roles(names, readings, pose, points)
    roles = list(found.roles)
    if strangers := others_on_floor(names, pose, points):
        told.append(
            f"{len(strangers)} markers near the floor do not belong to a leg ({name_some(strangers)}), so "
            "the role (landmark) of every marker is unsure; if another person or an object has markers, "
            "export only this person"
        )
        roles = [doubted(role, "there are markers that do not belong to the person") for role in roles]
    followed, left_out = followed_markers(names, readings, roles, pose, points, found.exchanged)
    roles += lateral_roles(names, roles, followed, pose, points, found.exchanged)
    told += [*standing.notes, *found.told, *left_out]
    if movement is not None:
        followed, absent = in_movement(followed, movement.names, movement.source)
        told += absent
    else:
        told.append(
            "no --movement was given, so every marker on pelvis and legs is tracked, also markers "
            "that are worn only in the static trial"
        )
    unsure = [f.marker for f in followed if not f.is_certain]
    if unsure:
        told.append(f"assigned to segments only by their positions: {', '.join(unsure)}")
    proposed = propose_map(
        name, f"proposed by rtsim from {trial.source}", roles, followed, trunk_of(names, readings)
    )
    return LabProposal(
        standing=StandingMarkers(tuple(names), points),
        pose=pose,
        roles=tuple(roles),
        followed=tuple(followed),
        proposed=proposed,
        told=tuple(told),
    )


def without_beginning(standing: StandingMarkers) -> StandingMarkers:
    """Remove a prefix that all marker names share, such as a person's name, if more names have a meaning
    without it.
    """
    bare = without_shared(standing.names)
    if "" in bare or len(set(bare)) < len(bare):
        return standing
    known, without = (
        sum(not read_name(name).says_nothing for name in names) for names in (standing.names, bare)
    )
    return standing._replace(names=tuple(bare)) if without > known else standing


def others_on_floor(names: Sequence[str], pose: StandingPose, points: Array) -> list[str]:
    """Return markers below the knees that are far from both legs, if there are enough of them to belong to
    another person.
    """
    x = pose.seen(points)
    frames = [leg_frames(x * np.array([1.0, 1.0, sign])) for sign in (1.0, -1.0)]
    near = [np.abs(frame["leg"][:, [0, 2]]).max(axis=1) < FAR for frame in frames if frame is not None]
    far = (x[:, 1] < KNEES) & ~np.any(near, axis=0) if near else np.zeros(len(x), dtype=np.bool_)
    others = [name for name, is_far in zip(names, far, strict=True) if is_far]
    return others if len(others) >= FEWEST_OTHERS else []


def pose_by_names(points: Array, readings: Sequence[NameReading]) -> tuple[StandingPose, list[str]]:
    """Estimate the standing pose of the person, and return it with notes for the user. Each marker may only
    be on a landmark that its name permits; if many names do not fit a standing person, as with exchanged
    labels, the pose is estimated from the positions alone.

    points : (n, 3) markers [m]; readings : interpretation of the name of each marker
    """
    allowed = allowed_by_names(readings)
    named = [k for k, reading in enumerate(readings) if allowed_places(reading)]
    if not named and not any(reading.segment for reading in readings):
        return find_pose(points), []
    pose = find_pose(points, allowed)
    costs = np.where(allowed, all_costs(pose.seen(points)), np.inf)
    fitting = sum(bool(costs[:, k].min() <= GATE) for k in named)
    if len(named) < FEWEST_NAMED or fitting >= MOSTLY * len(named):
        return pose, []
    bare = find_pose(points)
    if bare.score <= pose.score:
        return pose, []
    return bare, [
        f"{len(named) - fitting} of {len(named)} names of landmarks do not fit a standing person, "
        "because labels are exchanged or the names mean something else; the pose was found only from "
        "the positions of the markers"
    ]


def allowed_places(reading: NameReading) -> list[str]:
    """Return the landmarks that a marker's name permits and that have a typical position (in PLACES)."""
    return [role for role in reading.roles if role in PLACES]


def allowed_by_names(readings: Sequence[NameReading]) -> NDArray[np.bool_]:
    """Return whether each marker may be on each landmark according to its name, (n_slot, n_marker) bool.

    The rows are the landmarks of the right leg, the left leg and the middle of the body (SLOTS). A name
    allows its landmarks on both sides, and a name without a known meaning allows every landmark.
    """
    allowed = np.ones((len(SLOTS), len(readings)), dtype=np.bool_)
    for k, reading in enumerate(readings):
        if not reading.says_nothing:
            allowed[:, k] = [role in reading.roles for role, _ in SLOTS]
    return allowed


def check_names(names: tuple[str, ...], where: str) -> list[str]:
    """Return notes on names without a meaning; ConfigError for markers without names."""
    nameless = [name for name in names if NO_NAMES.match(name)]
    if len(nameless) > MOSTLY * len(names):
        raise ConfigError(
            f"{len(nameless)} of {len(names)} markers have no names", where=where,
            remedy="label the markers in the program that recorded them, because a marker map uses names",
        )  # fmt: skip
    numbered = [name for name in names if NUMBERED.match(name)]
    if len(numbered) > MOSTLY * len(names):
        return [
            "the marker names are numbers, so the map is valid only if each marker has the same "
            "number in every trial"
        ]
    return []
