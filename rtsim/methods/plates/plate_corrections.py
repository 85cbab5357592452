"""Distances of the centres of pressure from the feet, and mistakes that would explain them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import new_rules
from kernels.plates.plate_contact import LOADED, Plates
from rtsim.files.forces.force_trial import find_contacts

FloatArray = NDArray[np.float64]
Wrench = tuple[FloatArray, FloatArray]

EXPLAINS = 0.9
"""A correction explains a fault if the centre of pressure is then under a foot in this fraction of frames."""
FARTHEST, NEAREST = 10.0, 1e-3
"""Distances of the centre of pressure from the middle of a plate, above or below which the unit of the
moments is wrong [m]."""
GOES = 0.2
"""Displacement of a foot above which the person does not stand [m]."""
HALF = 0.5
SHORTEST = 0.05
"""The centre of pressure moves farther than this under a foot in walking [m]."""
LEAST_SHIFT = 0.15
"""Smallest displacement of the centre of pressure that is reported [m]."""
MOMENTS = {
    1e-3: (FARTHEST, "newton millimetres sent as newton metres"),
    1e-2: (0.3 * FARTHEST, "newton centimetres sent as newton metres"),
    1e1: (50.0 * NEAREST, "newton centimetres sent as newton millimetres"),
    1e2: (3.0 * NEAREST, "newton metres sent as newton centimetres"),
    1e3: (NEAREST, "kilonewton metres sent as newton metres, or these as newton millimetres"),
}
"""Factor that corrects the moments -> distance of the centre of pressure from the middle of the plate, at
least (factor below 1) or at most (factor above 1) [m], and description of the mistake."""
LENGTHS = {
    1e-3: ("millimetres", "metres"),
    1e-2: ("centimetres", "metres"),
    1e-1: ("millimetres", "centimetres"),
    1e1: ("centimetres", "millimetres"),
    1e2: ("metres", "centimetres"),
    1e3: ("metres", "millimetres"),
}
"""Factor that corrects lengths -> their true unit, and the unit as which they were read."""
ARRANGED = (
    ([2, 1, 0], (1.0, 1.0, 1.0), "the centres of pressure seem to have X and Z exchanged"),
    ([0, 1, 2], (-1.0, 1.0, 1.0), "the centres of pressure seem to have the wrong sign of X"),
    ([0, 1, 2], (1.0, 1.0, -1.0), "the centres of pressure seem to have the wrong sign of Z"),
    (
        [0, 1, 2],
        (-1.0, 1.0, -1.0),
        "the centres of pressure seem to be rotated by 180 degrees about the vertical",
    ),
    (
        [2, 1, 0],
        (1.0, 1.0, -1.0),
        "the centres of pressure seem to be rotated by 90 degrees about the vertical",
    ),
    (
        [2, 1, 0],
        (-1.0, 1.0, 1.0),
        "the centres of pressure seem to be rotated by 270 degrees about the vertical",
    ),
)
"""Order and signs of the components X, Y, Z that correct points, and description of the mistake."""


class PlateContacts:
    """Contacts of all plates in n frames (whether each is loaded, and its centre of pressure), and how far
    they are from the feet.

    seen : (n,) mask of frames in which both feet are visible; in other frames an unseen foot may be at any
        position
    one_foot : whether both feet are visible in no frame; `seen` then marks the frames in which one foot is
        visible
    """

    def __init__(self, plates: Plates, force: FloatArray, moment: FloatArray, feet: FloatArray) -> None:
        self.plates, self.force, self.moment, self.feet = plates, force, moment, feet
        self.centre, self.free_moment, self.loaded = find_contacts(plates, force, moment)
        there: NDArray[np.bool_] = np.asarray(np.isfinite(feet).all(axis=(2, 3)))
        both: NDArray[np.bool_] = np.asarray(there.all(axis=1))
        self.one_foot = not both.any()
        self.seen: NDArray[np.bool_] = np.asarray(there.any(axis=1)) if self.one_foot else both
        rules = new_rules()
        self.reach, self.edge, self.error = rules.keep, rules.edge, rules.moment

    def under(self, p: int, force: FloatArray, moment: FloatArray) -> float:
        """Return the fraction of the loaded frames, with the feet visible, in which the centre of pressure
        would be on plate p and under a foot, if the plate had measured another wrench.

        force, moment : (n, 3) this wrench, about the ground origin [N], [N m]
        """
        wrench = np.zeros_like(self.force), np.zeros_like(self.moment)
        wrench[0][:, p], wrench[1][:, p] = force, moment
        centre, _, loaded = find_contacts(self.plates, *wrench)
        rows = np.flatnonzero((loaded[:, p] == LOADED) & self.seen)
        if rows.size == 0:
            return 0.0
        near = self._is_near(p, force[rows], centre[rows, p], self.feet[rows])
        return float((near & ~self._is_beside(p, centre[rows, p])).mean())

    def is_elsewhere(self, p: int) -> bool:
        """Return whether the centre of pressure of plate p is not under a foot in more than half of the
        loaded frames."""
        rows = (self.loaded[:, p] == LOADED) & self.seen
        return bool(rows.any()) and self.under(p, self.force[:, p], self.moment[:, p]) < HALF

    def moves(self, p: int) -> bool:
        """Return whether a foot moves by GOES (0.2 m) or more in the frames in which plate p is loaded. If
        not, the person stands. Then a wrong correction of the plate's data could bring the centre of pressure
        under the foot by chance.
        """
        rows = self.feet[(self.loaded[:, p] == LOADED) & self.seen].mean(axis=2)
        places = rows[:, np.isfinite(rows).any(axis=(0, 2))]
        low, high = np.nanpercentile(places, [5.0, 95.0], axis=0)
        return bool((high - low >= GOES).any())

    def keeps(self, p: int) -> bool:
        """Return whether the centre of pressure of plate p moves by less than SHORTEST (0.05 m), although a
        foot moves in the frames in which the plate is loaded. The unit of the plate's moments is then
        probably wrong, as under a walking foot the centre of pressure moves farther.
        """
        rows = (self.loaded[:, p] == LOADED) & self.seen
        if not rows.any() or not self.moves(p):
            return False
        low, high = np.percentile(self.centre[rows, p], [5.0, 95.0], axis=0)
        return bool((high - low < SHORTEST).all())

    def beyond(self, p: int) -> float:
        """Return the fraction of the loaded frames in which the centre of pressure of plate p is outside the
        plate's surface."""
        rows = self.loaded[:, p] == LOADED
        return float(self._is_beside(p, self.centre[rows, p]).mean()) if rows.any() else 0.0

    def _is_near(self, p: int, force: FloatArray, centre: FloatArray, feet: FloatArray) -> NDArray[np.bool_]:
        """Return whether points (n, 3), where forces (n, 3) press plate p, are under one of the feet (n, 2,
        2, 3)."""
        reach = self.reach + self.error / (force @ self.plates.axes[p, 2])
        return np.asarray((distances(centre, feet, self.plates.axes[p]) <= reach[:, None]).any(axis=1))

    def _is_beside(self, p: int, centre: FloatArray) -> NDArray[np.bool_]:
        """Return whether points (n, 3) lie outside the surface of plate p."""
        along = np.abs((centre - self.plates.centre[p]) @ self.plates.axes[p, :2].T)
        return np.asarray((along - self.plates.half[p]).max(axis=1) > self.edge)

    def local(self, p: int) -> Wrench:
        """Return force and moment of plate p about the middle of its surface, in the plate's axes, (n, 3)."""
        centre, axes = self.plates.centre[p], self.plates.axes[p]
        force = self.force[:, p]
        return force @ axes.T, (self.moment[:, p] - np.cross(centre, force)) @ axes.T

    def placed(self, p: int, wrench: Wrench) -> Wrench:
        """Return a wrench in ground from one given about the middle of plate p's surface, in its axes."""
        centre, axes = self.plates.centre[p], self.plates.axes[p]
        force = wrench[0] @ axes
        return force, wrench[1] @ axes + np.cross(centre, force)

    def explained(self, p: int, force: FloatArray, moment: FloatArray) -> float:
        """Return the fraction of the loaded frames, with the feet visible, in which the centre of pressure of
        plate p would be under a foot or, on the plate, between both feet, if the plate had measured another
        wrench.

        force, moment : (n, 3) this wrench, about the ground origin [N], [N m]
        """
        wrench = self.force.copy(), self.moment.copy()
        wrench[0][:, p], wrench[1][:, p] = force, moment
        other = PlateContacts(self.plates, *wrench, self.feet)
        return other.under(p, force, moment) + other.between(p, on_surface=True)

    def between(self, p: int, on_surface: bool = False) -> float:
        """Return the fraction of the loaded frames, with the feet visible, in which the centre of pressure of
        plate p is between both feet and under neither, as when both stand on the plate.

        on_surface : whether it must also be on the plate's surface to be counted
        """
        rows = np.flatnonzero((self.loaded[:, p] == LOADED) & self.seen)
        if rows.size == 0:
            return 0.0
        centre, feet = self.centre[rows, p], self.feet[rows]
        near = self._is_near(p, self.force[rows, p], centre, feet)
        if on_surface:
            near |= self._is_beside(p, centre)
        to_feet = feet.mean(axis=2) - centre[:, None]
        cosine = (to_feet[:, 0] * to_feet[:, 1]).sum(axis=1) / np.linalg.norm(to_feet, axis=2).prod(axis=1)
        return float(((cosine < -np.sqrt(0.5)) & ~near).mean())


def distances(centre: FloatArray, feet: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the distances (n, n_foot) of points (n, 3) from the line between heel and tip of the toes of
    each foot, measured along the surface of a plate [m]; infinite where a foot is not visible.

    feet : (n, n_foot, 2, 3) positions of heel and tip of the toes [m]
    axes : (3, 3) axes of the plate as rows, the first two along its surface
    """
    flat = feet @ axes[:2].T
    point = (centre @ axes[:2].T)[:, None]
    line, to_point = flat[..., 1, :] - flat[..., 0, :], point - flat[..., 0, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((to_point * line).sum(axis=-1) / (line * line).sum(axis=-1), 0.0, 1.0)
    distance = np.linalg.norm(to_point - share[..., None] * line, axis=-1)
    return np.where(np.isnan(distance), np.inf, distance)


def corrections(
    contact: PlateContacts, names: Sequence[str], p: int, origin: FloatArray | None = None
) -> Iterator[tuple[float, str, str]]:
    """Yield the possible mistakes in the data of plate p. Each is the fraction of frames in which the centre
    of pressure would be under a foot if the mistake were corrected, the name of the mistake, and a sentence
    for the user.

    origin : (3,) vector from the point about which the plate measures to the middle of its surface, in ground
        [m]; None or NaN = not known
    """
    force, moment = contact.local(p)
    name = names[p]

    def share(wrench: Wrench) -> float:
        return contact.under(p, *contact.placed(p, wrench))

    bounded = bool(np.isfinite(contact.plates.half[p]).all())
    known = origin is not None and bool(np.isfinite(origin).all())
    to_middle = contact.plates.axes[p] @ origin if known else np.zeros(3)
    yield from of_units(contact, name, p, to_middle) if bounded else of_points(contact, name, p)
    if known:
        # With z = 0 its sign does not show; with another z, x and y alone may have the other one.
        flips = {"": np.ones(3), " in its x and y components": np.array([1.0, 1.0, 0.0])}
        for where, flip in list(flips.items())[: 2 if abs(to_middle[2]) > NEAREST else 1]:
            moved = moment - 2.0 * np.cross(force, flip * to_middle)
            yield (
                contact.explained(p, *contact.placed(p, (force, moved))), "origin",
                f"ORIGIN of {name} seems to have the wrong sign{where}. Correct it, or the moments, "
                "where the file is made.",
            )  # fmt: skip
    for other in range(len(names)):
        there = 0.0 if other == p else contact.under(other, *contact.placed(other, (force, moment)))
        if there >= EXPLAINS > contact.under(other, contact.force[:, other], contact.moment[:, other]):
            yield (
                contact.under(p, *contact.placed(p, contact.local(other))), "swapped",
                f"{name} seems to be swapped with {names[other]}: check which channels belong to "
                "which plate.",
            )  # fmt: skip
    if not bounded:
        return
    for quarter in (1, 2, 3):
        c, s = round(np.cos(0.5 * np.pi * quarter)), round(np.sin(0.5 * np.pi * quarter))
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        yield (
            share((force @ turn.T, moment @ turn.T)), "turned",
            f"{name} seems to be rotated by {90 * quarter} degrees: check the order of its corners, "
            "and the sign of its moments.",
        )  # fmt: skip
    for k, edge in enumerate(("first", "second")):
        flip = np.ones(3)
        flip[k] = -1.0
        # A mirrored wrench: forces turn with the mirror, moments against it.
        yield (
            share((force * flip, -moment * flip)), "mirrored",
            f"{name} seems to be mirrored along its {edge} edge: check the order of its corners and "
            "the signs of its channels.",
        )  # fmt: skip


def of_units(
    contact: PlateContacts, name: str, p: int, to_middle: FloatArray
) -> Iterator[tuple[float, str, str]]:
    """Yield possible mistakes in the unit of the moments of plate p: each as the fraction of frames in which
    the centre of pressure would be under a foot without it, its name, and a sentence for the user.

    to_middle : (3,) vector from the point about which plate p measures to the middle of its surface [m]

    They are only considered if the centre of pressure is implausibly far away, or nearly constant: a nearly
    constant one lies under the foot if the foot stands in the middle of the plate.
    """
    force, moment = contact.local(p)
    away = contact.centre[contact.loaded[:, p] == LOADED, p] - contact.plates.centre[p]
    away_m, shift = float(np.median(np.linalg.norm(away, axis=1))), np.cross(force, to_middle)
    for factor, (bound, unit) in MOMENTS.items():
        if away_m > bound if factor < 1.0 else away_m < bound or contact.keeps(p):
            said = (
                f"The moments of {name}, or the centres of pressure about which they are taken, look like "
                f"{unit}."
            )
            corrected = factor * (moment - shift) + shift
            yield contact.under(p, *contact.placed(p, (force, corrected))), "moment_unit", said


def of_points(contact: PlateContacts, name: str, p: int) -> Iterator[tuple[float, str, str]]:
    """Yield possible mistakes in the centres of pressure of a file that does not store the positions of its
    plates: a wrong unit, or exchanged axes. Each is the fraction of frames in which the centre of pressure
    would be under a foot without the mistake, the mistake's name, and a sentence for the user.

    name, p : the plate's name, for the sentence, and its index in `contact`
    """
    for factor, (unit, taken) in LENGTHS.items():
        said = (
            f"The centres of pressure of {name} seem to be {unit} read as {taken}, or its moments "
            f"about the origin to be in newton {unit}: correct them where the file is made."
        )
        yield contact.under(p, *moved(contact, p, factor * contact.centre[:, p])), "point_unit", said
    for order, signs, said in ARRANGED:
        points = contact.centre[:, p][:, order] * signs
        yield (
            contact.under(p, *moved(contact, p, points)), "exchanged",
            f"Force plate data of {name}: {said}. Correct them where the file is made.",
        )  # fmt: skip


def displaced(contact: PlateContacts, name: str, p: int) -> tuple[float, str, str] | None:
    """Return a constant displacement of plate p, or of its centres of pressure, as a possible mistake: the
    fraction of frames in which the centre of pressure would be under a foot without it, the name of the
    mistake, and a sentence for the user; None if the displacement is small.

    A displacement has two parameters, and a single footstep hardly contains more information. So a
    displacement can also fit data with another mistake. It is therefore tried last. On the other plates whose
    centre of pressure is not under a foot, it must bring it there in half of the loaded frames.
    """
    plates = range(len(contact.plates.centre))
    elsewhere = [q for q in plates if q != p and contact.is_elsewhere(q)]
    rows = np.flatnonzero((contact.loaded[:, p] == LOADED) & contact.seen)
    feet, heights = contact.feet[rows].mean(axis=2), contact.feet[rows, :, :, 1]
    low = np.argmin(np.where(np.isnan(heights), np.inf, heights).min(axis=2), axis=1)
    at = contact.centre[rows, p]
    found = []
    for foot in (low, np.zeros_like(low), np.ones_like(low)):  # whichever is lower, or one of them throughout
        away = feet[np.arange(len(rows)), foot] - at
        shift = np.nanmedian(away, axis=0) if np.isfinite(away).any() else np.zeros(3)
        shift[1] = 0.0
        rest = [under_moved(contact, q, shift) for q in elsewhere] or [1.0]
        found.append((min(HALF, float(np.mean(rest))), under_moved(contact, p, shift), shift))
    others, share, (x, _, z) = max(found, key=lambda one: one[:2])
    if np.hypot(x, z) < LEAST_SHIFT or others < HALF:
        return None
    bounded = np.isfinite(contact.plates.half[p]).all()
    what = f"{name} looks displaced" if bounded else f"The centres of pressure of {name} look displaced"
    return (
        share, "displaced",
        f"{what}: the foot is {x:+.2f} m along X and {z:+.2f} m along Z from the centre of pressure. "
        "Check where the plate lies in the laboratory of the markers, and that both are of one recording.",
    )  # fmt: skip


def under_moved(contact: PlateContacts, p: int, shift: FloatArray) -> float:
    """Return the fraction of the loaded frames in which the centre of pressure of plate p would be under a
    foot if the plate were displaced by `shift` (3,) [m].
    """
    centre, force = contact.plates.centre.copy(), contact.force[:, p]
    centre[p] += shift
    other = PlateContacts(contact.plates._replace(centre=centre), contact.force, contact.moment, contact.feet)
    return other.under(p, force, contact.moment[:, p] + np.cross(shift, force))


def moved(contact: PlateContacts, p: int, points: FloatArray) -> Wrench:
    """Return the wrench (force and moment about the ground origin) that plate p would have if its measured
    force and free moment acted at the points (n, 3) [m].
    """
    force = contact.force[:, p]
    free = np.where(contact.loaded[:, p] == LOADED, contact.free_moment[:, p], 0.0)
    at = np.where(np.isfinite(points), points, 0.0)
    at[:, 1] = contact.plates.centre[p, 1]
    return force, np.cross(at, force) + free[:, None] * contact.plates.axes[p, 2]
