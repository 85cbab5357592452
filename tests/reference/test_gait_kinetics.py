"""Moments and powers of recorded walks with force plates, against what is published of level walking.

Both legs of two laboratories, from marker files to joint moments per body mass.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.rates.manifold import plain
from rtsim.bench.markers.rates import solved
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.files.markers.markers import read_markers
from rtsim.files.tables.storage import Table, read_storage
from rtsim.methods.inverse_dynamics import inverse_dynamics_of
from rtsim.methods.kinematics.rates import FilteredRows, track
from rtsim.methods.kinematics.smoothing import smooth
from rtsim.models.load import load_model
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.masses import load_inertia_table, person_of

Array = NDArray[np.floating]

FILTER = ButterworthSpec(6.0, 2)
LOADED = 20.0  # N
MIRROR = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])  # of a wrench, in a mirror square to Z
FOOT, HIP, KNEE, ANKLE = 3, 0, 1, 2
# docs/kinetics.md [N m/kg]; internal, positive where the angle rises
PUBLISHED = {"ankle_plantarflexor": (1.2, 1.8), "knee_extensor": (0.3, 1.0)}


class Walk(NamedTuple):
    """A recording with plates."""

    trial: str
    static: str
    forces: str
    columns: tuple[tuple[str, str, str], ...]  # of force, place, moment: each with x, y, z at its end
    mass: float  # kg; 0 = weighed on the plates of the static trial
    static_forces: str = ""


WALKS = {
    "gait2392": Walk(
        "gait_opensim/gait2392/subject01_walk1.trc",
        "gait_opensim/gait2392/subject01_static.trc",
        "gait_opensim/gait2392/subject01_walk1_grf.mot",
        tuple((f"{n}ground_force_v", f"{n}ground_force_p", f"{n}ground_torque_") for n in ("", "1_")),
        72.6,
    ),
    "opencap": Walk(
        "squat_opencap/walking1.trc",
        "squat_opencap/static1.trc",
        "squat_opencap/walking1_grf.mot",
        tuple(tuple(f"ground_force_{n}_{kind}" for kind in "vpm") for n in (1, 2)),  # type: ignore[misc]
        0.0,
        "squat_opencap/static1_grf.mot",
    ),
}


class Moments(NamedTuple):
    """Per body mass, frame by frame."""

    moment: Array  # (n, 3 joints, 3 axes) N m/kg
    power: Array  # (n, 3) W/kg


def vectors(table: Table, label: str) -> Array:
    """Three columns (n, 3)."""
    return np.nan_to_num(np.stack([table.column(label + axis) for axis in "xyz"], axis=1))


def wrenches(table: Table, walk: Walk, times: Array) -> list[Array]:
    """The wrench of each plate about ground's origin at these times, (n, 6)."""
    found = []
    for force, place, moment in walk.columns:
        F, x, M = (vectors(table, label) for label in (force, place, moment))
        rows = np.hstack([np.cross(x, F) + M, F])
        found.append(np.stack([np.interp(times, table.column("time"), row) for row in rows.T], axis=1))
    return found


def mass_of(walk: Walk, data: Path) -> float:
    """Mass [kg], given or weighed."""
    if walk.mass:
        return walk.mass
    still = read_storage(data / walk.static_forces)
    return float(np.median(sum(still.column(f"{force}y") for force, _, _ in walk.columns))) / 9.81


def moments(data: Path, walk: Walk, side: str, live: bool, sign: float = 1.0) -> Moments:
    """Moments and powers of one leg; plates belong to the foot that their force passes near.

    live : filtered with delay, as on a stream; sign : of the forces
    """
    moving, still = read_markers(data / walk.trial), read_markers(data / walk.static)
    subject = msgspec.structs.replace(
        subject_for(moving, still, side=side), mass_kg=mass_of(walk, data), sex="male"
    )
    person = person_of(subject, load_inertia_table())
    spec = load_model("lower_limb")
    coordinates = solved(moving, subject, "minimised")
    body = inverse_dynamics_of(spec, subject, person, "minimised")

    def filtered(manifold, rows: Array) -> FilteredRows:
        way = track if live else smooth
        return way(FILTER, manifold, coordinates.rate, coordinates.times, rows)

    motion = filtered(coordinates.manifold, coordinates.q)
    plates = [
        filtered(plain(6), rows).q for rows in wrenches(read_storage(data / walk.forces), walk, moving.times)
    ]
    out = Moments(np.full((len(moving.times), 3, 3), np.nan), np.full((len(moving.times), 3), np.nan))
    for k in np.flatnonzero(motion.settled):
        body.clear()
        body.compute(motion.q[k], motion.v[k], motion.v_dot[k])
        for rows in plates:
            wrench = rows[k] * (MIRROR if side == "left" else 1.0)
            if wrench[4] > LOADED and is_under(wrench, body.results.centre[ANKLE]):
                body.external[FOOT] += sign * wrench
        body.compute(motion.q[k], motion.v[k], motion.v_dot[k])
        # of the leg: a trunk's joint comes after
        out.moment[k] = body.moment()[:3] / person.mass
        out.power[k] = body.power[:3].sum(axis=1) / person.mass
    return out


def is_under(wrench: Array, ankle: Array) -> bool:
    """Whether a plate's force passes ground near the foot."""
    x, z = wrench[2] / wrench[4], -wrench[0] / wrench[4]
    return bool(abs(x - ankle[0] - 0.05) < 0.25 and abs(z - ankle[2]) < 0.12)


@pytest.mark.parametrize("name", list(WALKS))
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("live", [False, True], ids=["smoothed", "live"])
def test_peaks_of_level_walking_are_those_published(shared: Path, name: str, side: str, live: bool) -> None:
    """Protects signs, axes, units and masses from markers and plates to moments, with delay and without."""
    found = moments(shared / "data", WALKS[name], side, live)
    ankle, knee = found.moment[:, ANKLE, 0], found.moment[:, KNEE, 0]
    low, high = PUBLISHED["ankle_plantarflexor"]
    assert low < -np.nanmin(ankle) < high
    low, high = PUBLISHED["knee_extensor"]
    assert low < -np.nanmin(knee) < high
    assert np.nanmax(ankle) < 0.4  # dorsiflexors after heel strike
    push_off = np.nanmax(found.power[:, ANKLE])
    assert 1.5 < push_off < 5.0
    assert np.nanargmin(ankle) < np.nanargmax(found.power[:, ANKLE]) + 2  # the moment peaks first


def test_live_peaks_are_those_of_smoothing(shared: Path) -> None:
    """Protects the common delay of forces and motion: filtered live, peaks stay within 0.1 N m/kg."""
    walk = WALKS["gait2392"]
    smoothed, live = (moments(shared / "data", walk, "right", way) for way in (False, True))
    for joint in (KNEE, ANKLE):
        peaks = [np.nanmin(found.moment[:, joint, 0]) for found in (smoothed, live)]
        assert peaks[0] == pytest.approx(peaks[1], abs=0.1)


def test_forces_the_wrong_way_are_seen(shared: Path) -> None:
    """Protects the test of the ranges itself: plates whose sign is wrong give no moment of walking."""
    found = moments(shared / "data", WALKS["gait2392"], "right", False, sign=-1.0)
    assert not -np.nanmin(found.moment[:, ANKLE, 0]) > 0.5 * PUBLISHED["ankle_plantarflexor"][0]
