"""The residual at the root as a test of plates and mass: search for the single mistake that would explain it.

By Newton's second law the forces on both feet together must be N = m (a - g), with the acceleration a of the
whole body's centre of mass and gravity g. With the measured plate forces F, inverse dynamics leaves the
residual R = N - F at the root. So N = R + F is known from motion and mass alone. Body parts that the model
lacks (unmarked head, arms and trunk) are assumed to move with the root. A leg does not move with the root, so
nothing is concluded if only one leg is modelled.

Each mistake changes F in its own way. A wrong gain, or a wrong mass, scales F. A wrong sign or exchanged axes
change its shear components. A delay shifts F in time. The mistake whose correction leaves the smallest R is
the most likely. Mass and a common gain of all plates have the same effect and cannot be distinguished.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_assignment import BEARS
from kernels.rates.manifold import OK, plain
from rtsim.config.runs.rate_schema import RateSpec
from rtsim.files.recording import Results
from rtsim.methods.gait.cycle_curves import filter_delay
from rtsim.methods.kinematics.rates import RateEstimator, filter_of
from rtsim.methods.plates.plate_check import GRAVITY
from rtsim.subjects.markers.labs import SIDES
from streams.messages import time_rate

Array = NDArray[np.float64]

LEAST_S = 0.3
"""Shortest time in which the forces on all feet must be known for a result [s]."""
BENT = np.radians(60.0)
"""Flexion of both knees above which the person may sit, so that a chair may carry part of the weight."""
FALLS = 0.7
"""A mistake is reported if its correction reduces the residual (RMS) to this fraction or less."""
GAIN_OFF = 0.12
"""Relative error of the mass or of a gain from which it is reported; a chair or a step beside the plates,
which carries part of the weight, causes up to 0.10."""
WRONG = -0.4
"""Regression slope of the required shear force over the measured one below which its sign is wrong."""
LATEST_S, LEAST_LATE_S = 0.1, 0.015
"""Largest delay of plates that is tried, and smallest delay that is reported [s]."""
LEAST_FORCE = 0.02
"""Smallest shear force (RMS) whose sign is checked, in body weights."""
UNITS = {2.2046: "pounds, but read as kilograms", 1.0 / 2.2046: "kilograms, but read as pounds"}
NEAR = 0.1
"""Relative deviation from such a factor up to which the unit of the mass counts as wrong."""
AXES = (0, 2)
"""Axes of the shear force in ground: X and Z."""


class Momentum(NamedTuple):
    """Momentum balance of the whole body, in body weights, over the n frames in which motion and forces are
    known.

    needed : (n, 3) ground reaction that the motion requires
    borne : (n_plate, n, 3) force measured by each plate
    rows : (n,) rows of the recording; rate : frames per second
    names : names of the plates
    """

    needed: Array
    borne: Array
    rows: NDArray[np.int64]
    rate: float
    names: tuple[str, ...]


class Mistake(NamedTuple):
    """A single mistake in the plates or the mass that would explain the residual.

    left : residual that remains after its correction, divided by the present residual
    name, sentence : kind of the mistake, and its description for the user
    """

    left: float
    name: str
    sentence: str


def judge_residual(results: Results, mass: float) -> dict[str, Any] | None:
    """Summarise the residual of the whole-body momentum balance, and the most likely mistake; None if nothing
    is known.

    rms : residual in body weights
    seconds : duration of the data
    mistake, sentence : "" if there is none
    """
    found = momentum_of(results, mass)
    if found is None:
        return None
    rms = size(found.needed - found.borne.sum(axis=0))
    told = sorted(mistakes(found, mass), key=lambda mistake: mistake.left)
    likely = told[0] if told and told[0].left <= FALLS else None
    return {
        "rms": rms,
        "seconds": len(found.rows) / found.rate,
        "mistake": likely.name if likely else "",
        "sentence": likely.sentence if likely else "",
    }


def momentum_of(results: Results, mass: float) -> Momentum | None:
    """Compare the ground reactions that the motion requires with those that the plates measure, both filtered
    alike.

    Returns None if the forces are known for too short a time, if only one leg is modelled, or if the run
    filtered nothing, as at a frame rate that is too low for its filter.
    """
    fields, rate = results.fields, time_rate(results.session)
    names = labels_of(results, "plate_forces")
    if filter_delay(results.session) is None:  # a run without a filter states none of its delays
        return None
    if not rate > 0.0 or not names or "residual_force" not in fields:
        return None
    spec = filter_of(results.session.meta["rates"])
    force = np.nan_to_num(fields["plate_forces"])
    if "plate_shares" in fields:
        force = np.where((fields["plate_shares"] == BEARS).any(axis=2)[..., None], force, 0.0)
    weight = mass * GRAVITY
    borne = np.stack([smoothed(spec, rate, results.times, x)[0] for x in np.moveaxis(force, 1, 0)]) / weight
    needed = fields["residual_force"] + borne.sum(axis=0)
    absent = 1.0 - float(results.session.meta.get("model_mass_kg", mass)) / mass
    if absent > 0.0:
        _, pushed = smoothed(spec, rate, results.times, fields["segment_positions"][:, 0])
        needed = needed + absent * (pushed / GRAVITY + [0.0, 1.0, 0.0])
    knees = [
        k for k, name in enumerate(labels_of(results, "joint_angles")) if name.startswith("knee_flexion")
    ]
    if len(knees) < len(SIDES):
        return None
    unbent = (np.abs(fields["joint_angles"][:, knees]) < BENT).any(axis=1)
    rows = np.flatnonzero(np.isfinite(needed).all(axis=1) & unbent)
    if len(rows) < LEAST_S * rate:
        return None
    return Momentum(needed[rows], borne[:, rows], rows, rate, names)


def labels_of(results: Results, field: str) -> tuple[str, ...]:
    """Return the labels of a field's first axis; empty where a run has no such field."""
    return next((tuple(spec.labels) for spec in results.session.fields if spec.name == field), ())


def smoothed(spec: RateSpec, rate: float, times: Array, x: Array) -> tuple[Array, Array]:
    """Filter positions x (n, 3) by the run's filter; return values and accelerations (n, 3), NaN until it
    has settled.
    """
    estimator = RateEstimator(spec, plain(6), rate)
    value, acceleration = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    row = np.zeros(6)
    for k, (time, now) in enumerate(zip(times.tolist(), x, strict=True)):
        row[:3] = now
        if estimator.take(time, row) == OK:
            value[k], acceleration[k] = estimator.rates.q[:3], estimator.rates.v_dot[:3]
    return value, acceleration


def size(x: Array) -> float:
    """Return the root mean square of the lengths of vectors (n, 3)."""
    return float(np.sqrt(np.mean(np.sum(x * x, axis=-1))))


def mistakes(found: Momentum, mass: float) -> Iterator[Mistake]:
    """Try all mistakes in the plates or the mass that could explain the residual, one at a time. Yield each
    mistake with the part of the residual that would remain if it were corrected.
    """
    yield from of_size(found, mass)
    yield from of_shear(found)
    yield from of_time(found)


def left_of(found: Momentum, borne: Array) -> float:
    """Return the residual at the root (RMS) that remains with corrected plate forces, divided by the residual
    with the measured forces.

    borne : (n_plate, n, 3) corrected force on each plate [body weights]
    """
    before = size(found.needed - found.borne.sum(axis=0))
    return size(found.needed - borne.sum(axis=0)) / before if before > 0.0 else 1.0


def of_size(found: Momentum, mass: float) -> Iterator[Mistake]:
    """Yield the mistakes that scale the forces: a wrong gain of one plate or of all plates, or a wrong
    mass.
    """
    up, asked = found.borne[..., 1], found.needed[:, 1]
    total = up.sum(axis=0)
    gain = float(total @ asked / (total @ total))
    if abs(gain - 1.0) > GAIN_OFF:
        said = f"the plates bear {100.0 / gain:.0f} % of the force that a mass of {mass:.1f} kg requires: "
        unit = next((u for factor, u in UNITS.items() if abs(gain / factor - 1.0) < NEAR), "")
        alike = f"the mass is {mass / gain:.1f} kg, or all plates have a gain of {1.0 / gain:.2f}"
        said += f"the mass seems to be given in {unit}" if unit else alike
        yield Mistake(left_of(found, gain * found.borne), "mass", said)
    loaded = [p for p in range(len(up)) if size(found.borne[p]) > 0.1]
    if len(loaded) < 2:
        return
    gains, *_ = np.linalg.lstsq(up[loaded].T, asked, rcond=None)
    for p, own in zip(loaded, gains.tolist(), strict=True):
        others = [g for q, g in zip(loaded, gains.tolist(), strict=True) if q != p]
        if own > 0.0 and abs(own - 1.0) > GAIN_OFF > max(abs(g - 1.0) for g in others):
            borne = found.borne.copy()
            borne[p] *= own
            said = (
                f"{found.names[p]} measures {100.0 / own:.0f} % of the force that the motion requires "
                "on this plate, while the other plates measure the force required on them"
            )
            yield Mistake(left_of(found, borne), "gain", f"{said}; the gain of this plate is {1.0 / own:.2f}")


def of_shear(found: Momentum) -> Iterator[Mistake]:
    """Yield the mistakes of the shear force: a wrong sign of one plate or of all plates, and X and Z
    exchanged.
    """
    n_plate = len(found.borne)
    flips = {"": np.arange(n_plate)} | {found.names[p]: np.array([p]) for p in range(n_plate)}
    for which, plates in flips.items() if n_plate > 1 else [("", np.arange(n_plate))]:
        whose = which or ("all plates" if n_plate > 1 else found.names[0])
        wrong = [a for a in AXES if is_turned(found, plates, a)]
        if not wrong:
            continue
        borne = found.borne.copy()
        for a in wrong:
            borne[plates, :, a] *= -1.0
        axes = " and ".join("XYZ"[a] for a in wrong)
        said = f"the shear of {whose} along {axes} has the wrong sign"
        yield Mistake(min(left_along(found, borne, a) for a in wrong), "shear_sign", said)
    for sign, quarter in ((1.0, 90), (-1.0, 270)):
        borne = found.borne.copy()
        borne[..., 0], borne[..., 2] = sign * found.borne[..., 2], -sign * found.borne[..., 0]
        left = max(left_along(found, borne, a) for a in AXES)
        yield Mistake(
            left, "turned", f"the shear of all plates is rotated by {quarter} degrees about the vertical"
        )


def is_turned(found: Momentum, plates: NDArray[np.int64], axis: int) -> bool:
    """Return whether plates push along an axis of ground in the opposite direction to what the motion
    requires."""
    own = found.borne[plates, :, axis].sum(axis=0)
    rest = found.borne[..., axis].sum(axis=0) - own
    if np.sqrt(np.mean(own**2)) < LEAST_FORCE:
        return False
    return float(own @ (found.needed[:, axis] - rest) / (own @ own)) < WRONG


def left_along(found: Momentum, borne: Array, axis: int) -> float:
    """Return the residual along one axis of ground that remains with corrected plate forces, divided by the
    residual along this axis with the measured forces.

    borne : (n_plate, n, 3) corrected force on each plate [body weights]; axis : 0, 1, 2 = X, Y, Z
    """
    before = np.linalg.norm(found.needed[:, axis] - found.borne[..., axis].sum(axis=0))
    after = np.linalg.norm(found.needed[:, axis] - borne[..., axis].sum(axis=0))
    return float(after / before) if before > 0.0 else 1.0


def of_time(found: Momentum) -> Iterator[Mistake]:
    """Yield the mistakes in time: plates whose samples come late or early by some frames."""
    place = {int(row): k for k, row in enumerate(found.rows)}
    total = found.borne.sum(axis=0)
    best, at = 1.0, 0
    for late in range(-round(LATEST_S * found.rate), round(LATEST_S * found.rate) + 1):
        both = [(k, place[row + late]) for row, k in place.items() if row + late in place]
        if late == 0 or len(both) < LEAST_S * found.rate:
            continue
        now, then = np.array(both).T
        before = size(found.needed[now] - total[now])
        left = size(found.needed[now] - total[then]) / before if before > 0.0 else 1.0
        if left < best:
            best, at = left, late
    shift = at / found.rate
    if abs(shift) >= LEAST_LATE_S:
        when = "late" if shift > 0.0 else "early"
        said = f"the forces are {1e3 * abs(shift):.0f} ms {when} relative to the markers"
        yield Mistake(best, "late", said)
