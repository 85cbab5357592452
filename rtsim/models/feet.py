"""The feet of a model that brings its own markers: their bodies, and the lines from heel to toes.

A foot is the low end of a limb: a body that, together with all bodies that it carries, is small, while its
parent is not, and that reaches down to the lowest fifth of the model in its neutral pose. Small means that no
point is farther from the body's joint than 0.3 of the limb's length, which is measured from the root along
the joints. The points of a foot are its markers and the origins of its bodies. The heel is the point farthest
back along the line from the centre of the foot's first joint to the farthest point. The tip of the toes lies
in the direction from the heel to the mean of the points of the forefoot. Its distance from the heel is
estimated from that of the joint of the toes or, if no joint is there, of the farthest point; it is at least
that of the farthest point. Plate forces act on the body of the heel, because a plate does not show which part
of the force acts on the toes. The side of a foot is that in the name of its body, else that of its place
relative to the root. The place of an only foot tells its side where the root is a pelvis: where its hip, too,
is beside the root's origin, on the same side. It counts as right otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import name_some
from rtsim.models.model import Model
from rtsim.models.neutral import neutral_places
from rtsim.subjects.feet.foot_lines import FOREFOOT, TOES
from rtsim.subjects.markers.labs import SIDES

Array = NDArray[np.float64]

LOW = 0.2
"""Part of the model's height in its neutral pose down to which a foot reaches."""
SMALL = 0.3
"""Size of a foot in parts of its limb."""
LEAST_FREEDOM = 3
"""Dofs of the root of a model that walks; one that ground holds has no feet."""
SHORTEST = 0.02
"""Points that are all nearer to each other make no foot [m]."""
BESIDE = 0.005
"""Distance along Z up to which feet have the same place, and an only foot is on neither side [m]."""


def stated(side: str) -> re.Pattern[str]:
    """Return the pattern of names that state a side, such as foot_r, right.foot, LeftFoot and footLeft."""
    letter, word = side[0], side.capitalize()
    between = rf"(?i:(^|[_.])({letter}|{side})([_.]|$))"
    return re.compile(rf"{between}|(?:(^|[_.])(?:{side}|{word})|(?<=[a-z0-9]){word})(?=[A-Z0-9_.]|$)")


SIDED = {side: stated(side) for side in SIDES}
FLAT = np.array([1.0, 0.0, 1.0])
NAMED = "--feet, or the bodies of external loads"
REMEDY = "name the bodies on which force plates act, with --feet or with feet in [plates] of the run config"


class SidesUnknownError(ConfigError):
    """Raised for two feet of which neither names nor places tell which is the right one."""


class Point(NamedTuple):
    """A point fixed in a body, with a name."""

    body: int
    place: Array  # (3,) - in the body [m]
    name: str


class Foot(NamedTuple):
    """A foot of a model: its side (0 right, 1 left), the indices of its bodies, beginning with the one on
    which plate forces act, and the heel and the tip of the toes as points fixed in bodies.
    """

    side: int
    bodies: tuple[int, ...]
    heel: Point
    toes: Point


class PlacedFeet:
    """The lines from heel to toes of a model's feet, computed from each pose of the model.

    Attributes
    ----------
    feet : at most one of each side
    lines : (2, 2, 3) heel and tip of the toes of the right and the left foot [m]; NaN where the model has no
        foot, or all markers of the foot are hidden
    known : which sides have a foot
    """

    def __init__(self, feet: Sequence[Foot], marker_bodies: NDArray[np.int64] | None = None) -> None:
        """Store the feet of a model; marker_bodies : (n_marker,) - bodies of the markers that are tracked"""
        self.feet = tuple(feet)
        bodies = np.zeros(0, np.int64) if marker_bodies is None else marker_bodies
        self._markers = [np.flatnonzero(np.isin(bodies, foot.bodies)) for foot in feet]
        self.lines: Array = np.full((2, 2, 3), np.nan)
        self.known = tuple(any(foot.side == side for foot in feet) for side in range(len(SIDES)))

    def at(self, position: Array, rotation: Array, measured: Array | None = None) -> Array:
        """Compute `lines` from origins (n_body, 3) and axes (n_body, 3, 3) of the bodies.

        measured : (n_marker, 3) markers of the frame [m], NaN = hidden
        """
        for foot, own in zip(self.feet, self._markers, strict=True):
            if measured is not None and len(own) and np.isnan(measured[own, 0]).all():
                self.lines[foot.side] = np.nan
                continue
            for k, point in enumerate((foot.heel, foot.toes)):
                self.lines[foot.side, k] = position[point.body] + rotation[point.body] @ point.place
        return self.lines

    def lost(self) -> Array:
        """Set `lines` to NaN and return it; called for a frame in which no pose was found."""
        self.lines[:] = np.nan
        return self.lines


def find_feet(model: Model, named: Sequence[str] = ()) -> tuple[Foot, ...]:
    """Find the feet of a model, at most one of each side; named : bodies on which plates act, if given.

    If only one is named, the other is found as well: it may stand beside the plates, so that its load is
    unknown, not zero. ConfigError if there is no foot or more than two, or for a name that is not a body with
    points (markers or joint centres); SidesUnknownError if nothing tells which of two is the right one.
    """
    points = points_of(model)
    spots = spots_of(model, points)
    roots = bodies_of_feet(model, named, points, spots)
    sides = sides_of([model.names.bodies[b] for b in roots], laterals(model, roots, points, spots))
    found = []
    for root, side in zip(roots, sides, strict=True):
        bodies = tuple(sorted(carried_by(model, root)))
        rows = [k for k, point in enumerate(points) if point.body in bodies]
        given = model.names.bodies[root] in named
        found.append(foot_of(side, model, bodies, [points[k] for k in rows], spots[rows], given))
    return tuple(sorted(found, key=lambda foot: foot.side))


def bodies_of_feet(model: Model, named: Sequence[str], points: Sequence[Point], spots: Array) -> list[int]:
    """Return the index of the most proximal body of each foot of a model, whether or not anything tells the
    sides of the feet; ConfigError as in find_feet.

    named : bodies on which plates act, if given
    points, spots : points fixed in the model's bodies, and their positions in the neutral pose (n, 3) [m]
    """
    roots = [body_named(model, name) for name in named] if named else low_ends(model, points, spots)
    if len(roots) > len(SIDES):
        raise ConfigError(
            f"the model has {len(roots)} feet: {name_some([model.names.bodies[b] for b in roots])}",
            where=f"model {model.name}", allowed="two", remedy=REMEDY,
        )  # fmt: skip
    if named:
        check_named(model, roots)
        roots += other_foot(model, roots, points, spots)
    return roots


def laterals(model: Model, feet: Sequence[int], points: Sequence[Point], spots: Array) -> list[float]:
    """Return the position of each foot along Z, to the right, relative to the root of its model [m]; 0 for an
    only foot whose root is no pelvis, so that its position does not tell a side.

    Without a pelvis the root is the thigh or shank of the same leg, whose joints are nearly in a line, or the
    foot on whose toes plates act. A root that carries the foot without a leg between is a foot if the body
    reaches farther forwards and sideways than down.

    feet : index of the most proximal body of each foot
    points, spots : points fixed in the model's bodies, and their positions in the neutral pose (n, 3) [m]
    """
    position, joints, parents = neutral_places(model)[0], joint_centres(model), model.tree.parent
    above = [root_of(parents, b) for b in feet]
    found = [float(position[b, 2] - position[a, 2]) for b, a in zip(feet, above, strict=True)]
    if len(feet) != 1 or feet[0] == above[0]:
        return found
    hip, carried = feet[0], carried_by(model, feet[0])
    while parents[hip] != above[0]:
        hip = int(parents[hip])
    beside = float(joints[hip, 2] - position[above[0], 2])
    away = spots[[k for k, point in enumerate(points) if point.body in carried]] - joints[feet[0]]
    toes = hip == feet[0] and np.linalg.norm(away * FLAT, axis=1).max() >= -away[:, 1].min()
    return found if abs(beside) > BESIDE and beside * found[0] > 0.0 and not toes else [0.0]


def points_of(model: Model) -> list[Point]:
    """Return the origins of all bodies, and all markers, as points fixed in bodies."""
    names = model.names
    origins = [Point(b, np.zeros(3), f"the origin of {name}") for b, name in enumerate(names.bodies)]
    own = zip(model.markers.body.tolist(), model.markers.position, names.markers, strict=True)
    return [*origins, *(Point(b, place, name) for b, place, name in own)]


def spots_of(model: Model, points: Sequence[Point]) -> Array:
    """Return the positions (n, 3) of points of a model in its neutral pose [m]."""
    position, rotation = neutral_places(model)
    return np.array([position[p.body] + rotation[p.body] @ p.place for p in points])


def low_ends(model: Model, points: Sequence[Point], spots: Array) -> list[int]:
    """Find the feet of a model in the neutral pose; return the index of the most proximal body of each,
    ConfigError if there is none.

    points, spots : points fixed in the model's bodies, and their positions in the neutral pose (n, 3) [m]
    """
    tree, parents = model.tree, model.tree.parent.tolist()
    freedom = [int(tree.v_start[b + 1] - tree.v_start[b]) for b, p in enumerate(parents) if p < 0]
    joints, limb = joint_centres(model), np.zeros(len(parents))
    height = float(spots[:, 1].max() - spots[:, 1].min())
    limit = float(spots[:, 1].min()) + LOW * height
    small = np.zeros(len(parents), np.bool_)
    low = small.copy()
    for b, p in enumerate(parents):
        if p < 0 or max(freedom) < LEAST_FREEDOM:
            continue
        limb[b] = limb[p] + float(np.linalg.norm(joints[b] - joints[p]))
        carried = carried_by(model, b)
        own = spots[[k for k, point in enumerate(points) if point.body in carried]]
        small[b] = np.linalg.norm(own - joints[b], axis=1).max() <= SMALL * limb[b]
        low[b] = own[:, 1].min() <= limit
    found = [b for b, p in enumerate(parents) if small[b] and low[b] and not small[p]]
    if not found:
        raise ConfigError(
            "the model has no foot for force plates, because no limb of a freely moving body ends "
            "near the ground",
            where=f"model {model.name}", remedy=f"remove the forces, or {REMEDY}",
        )  # fmt: skip
    return found


def other_foot(model: Model, named: Sequence[int], points: Sequence[Point], spots: Array) -> list[int]:
    """Find the foot of the opposite leg if the user has named the body of only one foot; return a list with
    the index of its most proximal body, or [] if there is not exactly one such foot or one name.

    named : indices of the named bodies
    points, spots : points fixed in the model's bodies, and their positions in the neutral pose (n, 3) [m]
    """
    if len(named) != 1:
        return []
    try:
        ends = low_ends(model, points, spots)
    except ConfigError:
        return []
    own = carried_by(model, named[0])
    others = [b for b in ends if b not in own and named[0] not in carried_by(model, b)]
    return others if len(others) == 1 else []


def joint_centres(model: Model) -> Array:
    """Return the centres of the bodies' joints in the neutral pose, (n_body, 3) [m]."""
    position, rotation = neutral_places(model)
    return position + (rotation @ model.tree.position_in_child[:, :, None])[:, :, 0]


def foot_of(
    side: int, model: Model, bodies: tuple[int, ...], points: list[Point], spots: Array, given: bool
) -> Foot:
    """Determine the line of a foot from heel to toes, and the body on which plate forces act.

    bodies : indices of the foot's bodies, the most proximal first
    points, spots : the points of these bodies, and their positions in the neutral pose (n, 3) [m]
    given : whether the user has named the first body, so that plate forces act on it; else they act on the
        body of the heel
    """
    position, rotation = neutral_places(model)
    flat, start = spots * FLAT, joint_centres(model)[bodies[0]] * FLAT
    away = np.linalg.norm(flat - start, axis=1)
    forward = (flat[away.argmax()] - start) / max(float(away.max()), SHORTEST)
    heel = int(((flat - start) @ forward).argmin())
    reach = np.linalg.norm(flat - flat[heel], axis=1)
    if reach.max() < SHORTEST:
        raise ConfigError(
            f"{model.names.bodies[bodies[0]]} has no two points (markers or joints) that show where "
            "heel and toes are",
            where=f"model {model.name}", remedy=f"give this body markers, or {REMEDY}",
        )  # fmt: skip
    fore = reach >= FOREFOOT * reach.max()
    jointed = max((reach[k] for k, p in enumerate(points) if not p.place.any()), default=0.0)
    longest = max(reach.max(), TOES * (jointed if jointed > 0.5 * reach.max() else reach.max()))
    ahead = spots[fore].mean(axis=0) - spots[heel]
    tip = spots[heel] + longest / np.linalg.norm(ahead * FLAT) * ahead
    last = points[int(reach.argmax())]
    place = rotation[last.body].T @ (tip - position[last.body])
    pressed = bodies[0] if given else points[heel].body
    others = tuple(b for b in bodies if b != pressed)
    return Foot(side, (pressed, *others), points[heel], Point(last.body, place, last.name))


def carried_by(model: Model, root: int) -> set[int]:
    """Return a body and all its descendants."""
    found = {root}
    for b, p in enumerate(model.tree.parent.tolist()):
        if p in found:
            found.add(b)
    return found


def root_of(parent: NDArray[np.int64], body: int) -> int:
    """Return the root body, such as the pelvis, of the kinematic tree to which a body belongs.

    parent : (n_body,) parent of each body, -1 = none
    """
    while parent[body] >= 0:
        body = int(parent[body])
    return body


def body_named(model: Model, name: str) -> int:
    """Return the index of the body with this name."""
    if name not in model.names.bodies:
        raise ConfigError(
            f"the model {model.name} has no body {name!r} on which force plates could act", where=NAMED,
            allowed=name_some(list(model.names.bodies)),
        )  # fmt: skip
    return model.names.bodies.index(name)


def check_named(model: Model, roots: Sequence[int]) -> None:
    """Raise ConfigError if the bodies `roots` (indices) that the user names as feet belong to the same leg,
    or if one of them carries the rest of the model.
    """
    names, parents = model.names.bodies, model.tree.parent.tolist()
    for k, root in enumerate(roots):
        if parents[root] < 0 and root in parents:
            raise ConfigError(
                f"{names[root]} carries the rest of the model {model.name}", where=NAMED,
                allowed="bodies at the low ends of limbs",
            )  # fmt: skip
        for other in roots[:k]:
            if root in carried_by(model, other) or other in carried_by(model, root):
                twice = "is named twice" if other == root else f"and {names[other]} belong to the same leg"
                raise ConfigError(
                    f"{names[root]} {twice}", where=NAMED, allowed="one body of each leg, each once"
                )


def sides_of(names: Sequence[str], lateral: Sequence[float]) -> list[int]:
    """Return the side of each foot, 0 (right) or 1 (left), by its name, else by its position; an only foot in
    the middle counts as right.

    lateral : position of each foot along Z, to the right, relative to the root of its model [m]

    SidesUnknownError for two feet whose sides neither names nor positions tell.
    """
    told = [SIDES.index(side) if side else -1 for side in map(side_of_name, names)]
    if len(names) == 1:
        return told if told[0] >= 0 else [int(lateral[0] < -BESIDE)]
    if sorted(told) in ([-1, 0], [-1, 1]):  # the other foot is on the other side
        return [side if side >= 0 else 1 - max(told) for side in told]
    if sorted(told) == [0, 1]:
        return told
    if abs(lateral[0] - lateral[1]) <= BESIDE:
        raise SidesUnknownError(
            f"neither the names nor the places of {name_some(list(names))} tell which foot is the right one",
            where="model", remedy="end the names of these bodies with _r and _l",
        )  # fmt: skip
    return [0, 1] if lateral[0] > lateral[1] else [1, 0]


def in_words(model: Model, feet: Sequence[Foot]) -> str:
    """Return a sentence on the feet that were chosen."""
    told = []
    for foot in feet:
        pressed, *others = (model.names.bodies[b] for b in foot.bodies)
        of = f"{pressed} with {', '.join(others)}" if others else pressed
        told.append(f"{SIDES[foot.side]} {of}, heel at {foot.heel.name}, toes at {foot.toes.name}")
    first = ", ".join(model.names.bodies[foot.bodies[0]] for foot in feet)
    return f"feet for force plates: {'; '.join(told)}; plates act on {first}"


def side_of_name(name: str) -> str:
    """Return the side, right or left, that the name of a body or coordinate states; "" if it states neither
    or both."""
    found = [side for side, pattern in SIDED.items() if pattern.search(name)]
    return found[0] if len(found) == 1 else ""
