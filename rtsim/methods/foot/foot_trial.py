"""A step prepared for the contact of a foot: its motion and the plate's measurement, in the frame of the
step.

The frame of a footstep has its origin on the plate under the heel, when the foot stands flat; X is medial, Y
along the foot, Z up. This is the laboratory frame of Brown (2017, section 5.3.1) for a left foot. A right
foot is mirrored, so that both feet are treated alike. Motion is filtered forwards and backwards (pass 5 Hz,
stop 20 Hz, where a tenth remains), forces are the means over the frames of the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernels.plates.plate_contact import Plates
from kernels.rates.manifold import plain
from rtsim.config.runs.lab_schema import LabMap
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.errors import ConfigError
from rtsim.files.forces.force_trial import ForceTrial
from rtsim.files.markers.trial import MarkerTrial
from rtsim.methods.foot.foot_pressure import StepPressure
from rtsim.methods.foot.foot_steps import FEET, FootStep
from rtsim.methods.foot.step_marks import NEEDED, beside_of, carried_marks, foot_markers, step_axes
from rtsim.methods.kinematics.smoothing import smooth
from rtsim.methods.plates.plate_loads import PlateLoads
from rtsim.subjects.feet.foot_frame import FootFrame, foot_frame, rigid_pose, rigid_twist
from rtsim.subjects.feet.foot_marks import in_order
from rtsim.subjects.feet.foot_sole import LEAST, STRETCH

Array = NDArray[np.float64]

PASS_HZ, STOP_HZ, ATTENUATION = 5.0, 20.0, 10.0
"""Pass band, stop band [Hz] and attenuation of the motion's filter (section 5.3.1)."""
FLAT = (0.25, 0.5)
"""Part of the contact in which a foot that walks stands flat."""
HEEL, LENGTH = (0.0, 80.0), (80.0, 260.0)
"""Ranges of a heel marker's height above the plate, and of its distance to the first metatarsal along the
foot [mm]: from children to very tall adults, in shoes."""
WIDEST = 0.8
"""Largest distance from the first to the fifth metatarsal, divided by the distance from the heel to the
first; 0.4 to 0.5 is usual."""
LEAN = 2.0
"""Largest slope of a plate that counts as level [degrees]: its force along the vertical is 0.06 % off."""


class FootTrial(NamedTuple):
    """One step, in the frame of the step.

    name : name of the trial, the plate and the foot
    side : right or left; a right foot is mirrored here
    times : (n,) times of the trial [s]
    position, velocity : (n, 3) motion of the heel, the origin of the foot's frame [m], [m/s]
    rotation : (n, 3, 3) - of the foot, its axes as columns
    turning : (n, 3) - angular velocity [rad/s]
    force : (n, 3) force on the foot [N]
    centre : (n, 2) - centre of pressure, X and Y [m]
    free_moment : (n,) - about Z [N m]
    weight : weight of the person [N]
    frame : the frame of the foot
    ground : (4, 3) - the axes of the footstep's frame in the laboratory as rows, then its origin [m]
    pressure : under the foot, None = not measured
    notes : sentences on assumptions, mirroring and substitutes
    source : the file of the trial
    """

    name: str
    side: str
    times: Array
    position: Array
    rotation: Array
    velocity: Array
    turning: Array
    force: Array
    centre: Array
    free_moment: Array
    weight: float
    frame: FootFrame
    ground: Array
    pressure: StepPressure | None = None
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def short(self) -> str:
        """Short name of the step, without the folder of its file."""
        return self.name.rpartition("/")[2]


def low_pass(rate: float) -> ButterworthSpec:
    """Return the Butterworth filter of lowest order that passes PASS_HZ and reduces STOP_HZ to a tenth."""
    stop, passing = (np.tan(np.pi * f / rate) for f in (min(STOP_HZ, 0.45 * rate), PASS_HZ))
    for order in (2, 4, 6, 8):
        corner = stop / (ATTENUATION - 1.0) ** (0.5 / order)
        if 1.0 + (passing / corner) ** (2 * order) <= np.sqrt(2.0):
            break
    both = corner * (np.sqrt(2.0) - 1.0) ** (0.5 / order)
    return ButterworthSpec(cutoff_hz=float(rate / np.pi * np.arctan(both)), order=order)


def prepare_step(
    trial: MarkerTrial,
    forces: ForceTrial,
    loads: PlateLoads,
    feet: Array,
    lab: LabMap,
    step: FootStep,
    weight: float,
    static: MarkerTrial | None = None,
) -> FootTrial:
    """Prepare a footstep for the contact model of the foot, with its motion and the plate's measurement.
    ConfigError if the markers of the foot are not visible, or do not show which foot it is. weight : of the
    person [N]

    feet : (n, 2, 2, 3) heel and tip of the toes of the right and the left foot [m]; NaN = not seen
    static : a trial of standing with flat feet, for landmarks not visible throughout the footstep
    """
    labelled = FEET[step.foot]
    where = f"{trial.source}, {forces.names[step.plate]}"
    rows = foot_markers(trial, lab, labelled)
    frames = slice(step.first, step.last + 1)
    with np.errstate(invalid="ignore"):
        known = {name: row for name, row in rows.items() if np.isfinite(trial.positions[frames, row]).all()}
    seen = list(known)
    if not known:
        raise _lacking("calcaneus", labelled, where, static)
    place, velocity = _filtered(trial, trial.positions[:, list(known.values())])
    place, velocity = place[frames], velocity[frames]
    n = len(place)
    flat_rows = slice(int(FLAT[0] * n), max(int(FLAT[1] * n), int(FLAT[0] * n) + 1))
    mean = dict(zip(seen, place[flat_rows].mean(axis=0), strict=True))
    ground = level_height(forces.plates, step.plate, where)
    carried, notes = carried_marks(static, lab, labelled, mean, where)
    mean |= carried
    lacking = next((role for role in NEEDED if role not in mean), None)
    if lacking is not None:
        raise _lacking(lacking, labelled, where, static)
    axes, side, told = step_axes(mean, labelled, where, beside_of(feet[frames], step.foot))
    labels, exchanged = in_order(mean, axes[0])
    mean = {role: mean[labels[role]] for role in mean}
    origin = mean["calcaneus"] * [1.0, 0.0, 1.0] + [0.0, ground, 0.0]
    frame = foot_frame({name: axes @ (x - origin) for name, x in mean.items()}, where)
    # The toe moves against the foot, and what is carried by the others follows nothing of its own.
    body = [k for k, name in enumerate(frame.names) if name != "hallux" and labels[name] in known]
    columns = [seen.index(labels[frame.names[k]]) for k in body]
    if len(body) < LEAST:
        raise ConfigError(
            f"only {len(body)} tracked markers of the {labelled} foot are visible throughout this footstep",
            where=where, allowed=f"at least {LEAST}", remedy="choose a trial with more foot markers",
        )  # fmt: skip
    at = (place[:, columns] - origin) @ axes.T
    position, rotation = rigid_pose(frame.markers[body], at)
    stretched = position[:, None] + np.einsum("nij,mj->nmi", rotation, frame.markers[body]) - at
    check_foot(
        frame, [frame.names[k] for k in body], np.sqrt(np.square(stretched).sum(axis=2).mean(axis=0)), where
    )
    speed, turning = rigid_twist(rotation, frame.markers[body], velocity[:, columns] @ axes.T)
    handed = float(np.linalg.det(axes))
    centre = (loads.centre[frames, step.plate] - origin) @ axes.T
    return FootTrial(
        name=f"{where}, {side} foot",
        side=side,
        times=loads.times[frames],
        position=position,
        rotation=rotation,
        velocity=speed,
        turning=turning,
        force=loads.force[frames, step.plate] @ axes.T,
        centre=centre[:, :2],
        free_moment=handed * loads.free_moment[frames, step.plate],
        weight=weight,
        frame=frame,
        ground=np.vstack([axes, origin]),
        notes=(*told, *exchanged, *notes, *frame.notes),
        source=trial.source,
    )


def _lacking(role: str, labelled: str, where: str, static: MarkerTrial | None) -> ConfigError:
    said = f"{role} of the {labelled} foot is not visible throughout the footstep"
    if static is None:
        remedy = (
            "give --static with a trial in which this marker is worn, fill the gap, or choose "
            "another footstep"
        )
    else:
        said += (
            f", and {static.source} has no frame with this marker and {LEAST} other markers of the foot, "
            "from which its position could be computed"
        )
        remedy = "fill the gap, or choose a trial with more markers on the foot"
    return ConfigError(said, where=where, remedy=remedy)


def level_height(plates: Plates, p: int, where: str) -> float:
    """Return the height of the surface of plate p [m]; ConfigError if the plate is inclined, because the
    contact model of the foot needs level ground."""
    lean = float(np.degrees(np.arccos(np.clip(plates.axes[p, 2, 1], -1.0, 1.0))))
    if lean > LEAN:
        raise ConfigError(
            f"the plate is inclined by {lean:.1f} degrees", where=where, allowed=f"up to {LEAN:g} degrees",
            remedy="choose a footstep on a horizontal plate",
        )  # fmt: skip
    return float(plates.centre[p, 1])


def check_foot(frame: FootFrame, names: Sequence[str], off: Array, where: str) -> None:
    """Raise ConfigError for implausible markers of a foot: exchanged labels, or a marker that is stuck or
    jumps.

    names : names of the n tracked markers
    off : (n,) deviation of each marker from its position on a rigid foot (RMS) [m]
    """
    of = dict(zip(frame.names, frame.markers, strict=True))
    width = float(of["metatarsal_1"][0] - of["metatarsal_5"][0])
    high, long, most = 1e3 * frame.heel_height, 1e3 * frame.length, 1e3 * float(off.max())
    for found, (least, greatest), said in (
        (high, HEEL, f"the heel marker is {high:.0f} mm above the plate when the foot is flat on the plate"),
        (long, LENGTH, f"the first metatarsal is {long:.0f} mm in front of the heel"),
        (1e3 * width, (0.0, WIDEST * long), f"metatarsals 1 and 5 are {1e3 * width:.0f} mm apart"),
        (
            most,
            (0.0, STRETCH),
            f"{names[int(off.argmax())]} moves relative to the foot by {most:.0f} mm (RMS)",
        ),
    ):
        if not least <= found <= greatest:
            raise ConfigError(
                said, where=where, allowed=f"{least:.0f} to {greatest:.0f} mm",
                remedy="check the labels and the heights of markers and plates",
            )  # fmt: skip


def _filtered(trial: MarkerTrial, seen: Array) -> tuple[Array, Array]:
    """Return positions and velocities (n, n_marker, 3) of the markers of a foot, low-pass filtered without
    delay; NaN where a marker is not seen.

    seen : (n, n_marker, 3) measured positions [m]; NaN = not seen
    """
    n, n_marker = seen.shape[:2]
    found = smooth(low_pass(trial.rate), plain(3 * n_marker), trial.rate, trial.times, seen.reshape(n, -1))
    return found.q.reshape(n, n_marker, 3), found.v.reshape(n, n_marker, 3)
