"""The stoop lift of Millard et al. (2019): the model of the person, and the forces on feet and hands.

The recording (MIT licence; docs/planar_body.md) has a planar model with X forwards, Z up and joints about Y,
which points to the left; here Y is up and Z to the right, and angles are anatomical: flexion, dorsiflexion
and ulnar deviation are positive, a growing tilt rotates the pelvis backwards. For forearms and hands the
file has inertia tensors that are not symmetric and have no moment about the joint's axis. Their entries are
read as those of a tensor that was rotated by 90 degrees on one side only; the smaller of the two
off-diagonal entries is taken as the moment about the joint's axis.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.markers.markers import read_markers
from rtsim.files.output import write_text
from rtsim.files.recording import Results
from rtsim.models.model import Model
from rtsim.models.planar_body import BODIES, COORDINATES, GENERATORS
from rtsim.stages.building.context import StageContext
from rtsim.stages.kinematics import make
from rtsim.subjects.markers.marker_names import find_markers

Array = NDArray[np.float64]

RATE, BOX_KG = 50.0, 15.0
"""Samples per second; mass of the box, whose plate was tared with it."""
WINDOW, ORDER = 11, 3
"""Samples and order of the polynomials that give the accelerations of the box."""
TRIALS = {
    "stoop1": "stoop1_t169_f620f800", "stoop2": "stoop2_t169_f1395f1590", "stoop3": "stoop3_t169_f2101f2300",
}  # fmt: skip
BORNE_BY = """
name = "stoop"
[plates.borne_by]
feet = { foot_r = 0.5, foot_l = 0.5 }
box_r = { hand_r = 1.0 }
box_l = { hand_l = 1.0 }
"""
"""Run config that assigns the force plates of `write_loads` to feet and hands."""
LATERAL = {"R": "r", "L": "l"}
THEIRS = {
    "Pelvis": "pelvis", "Thigh": "thigh", "Shank": "shank", "Foot": "foot", "MiddleTrunk": "middle_trunk",
    "UpperTrunk": "upper_trunk", "Head": "head", "UpperArm": "upper_arm", "LowerArm": "forearm",
    "Hand": "hand",
}  # fmt: skip
COLUMNS = (
    "pelvis_x", "pelvis_y", "pelvis_tilt",
    *(f"{joint}_{side}" for side in "rl" for joint in ("hip_flexion", "knee_flexion", "ankle_dorsiflexion")),
    "lumbar_flexion", "thoracic_flexion", "neck_flexion",
    *(
        f"{joint}_{side}"
        for side in "rl"
        for joint in ("shoulder_flexion", "elbow_flexion", "wrist_ulnar_deviation")
    ),
)  # fmt: skip
"""Names in rtsim of the authors' columns after the three of the box."""


def own_name(theirs: str) -> str:
    """Return the name of a body in rtsim's model, such as a thigh, from its name `theirs` in the model of
    Millard et al. (2019), such as Thigh_R.
    """
    name, _, side = theirs.partition("_")
    return THEIRS[name] + (f"_{LATERAL[side]}" if side else "")


def signs() -> Array:
    """Return (18,): 1 or -1 for each coordinate in COLUMNS; -1 where rtsim counts it in the opposite sense to
    the model of Millard et al. (2019).
    """
    about = dict(COORDINATES.values())
    stems = [name[:-2] if name[-2:] in ("_r", "_l") else name for name in COLUMNS]
    return np.array([1.0 if stem in ("pelvis_x", "pelvis_y") else -about[stem] for stem in stems])


def millimetres(place: list[float]) -> list[float]:
    """Return a point of the published model, (3,) [m] with Z up, as a point with Y up [mm]."""
    return [1e3 * place[0], 1e3 * place[2], -1e3 * place[1]]


def moments_of(inertia: list[list[float]]) -> list[float]:
    """Return the moments of inertia [xx, yy, zz] with Y up [kg m^2] from an inertia tensor of the published
    model, which has Z up. Of a tensor with an empty diagonal, which was rotated on one side only, the
    off-diagonal entries are taken: the larger one as xx, the smaller one as zz.
    """
    xx, yy, zz = inertia[0][0], inertia[1][1], inertia[2][2]
    if not xx:
        xx, yy = sorted((abs(inertia[0][1]), abs(inertia[1][0])), reverse=True)
    return [xx, zz, yy]


def stoop_model(folder: Path) -> ModelSpec:
    """Return the model of the person, with markers; folder : folder of the recording."""
    frames = json.loads((folder / "vuaHuman2d.json").read_text(encoding="utf-8"))["frames"]
    bodies: list[dict[str, Any]] = []
    markers: list[dict[str, Any]] = []
    for frame in frames:
        name, mass = own_name(frame["name"]), frame["body"]
        body = {
            "name": name, **BODIES[name], "mass_kg": mass["mass"], "mass_centre_mm": millimetres(mass["com"]),
            "inertia_kg_m2": moments_of(mass["inertia"]),
        }  # fmt: skip
        if "parent" in body:
            body["in_parent"] = {"offset_mm": millimetres(frame["joint_frame"]["r"])}
        bodies.append(body)
        markers += [
            {"name": marker, "segment": name, "offset_mm": millimetres(place)}
            for marker, place in frame["markers"].items()
        ]
    tables = {
        "name": "stoop_lift", "source": "Millard et al. (2019), vuaHuman2d", "bodies": bodies,
        "markers": markers, "torque_generators": {"set": GENERATORS},
    }  # fmt: skip
    return msgspec.convert(tables, ModelSpec)


def markers_of(folder: Path, trial: str) -> Path:
    """Return the file of markers of a trial: stoop1, stoop2 or stoop3."""
    return folder / "VUA2UHEI" / "2D" / f"{TRIALS[trial]}_2D.c3d"


def table_of(folder: Path, name: str) -> Array:
    """Read a table of numbers from a file in the folder of the recording."""
    return np.loadtxt(folder / name, delimiter=",")


class FollowedModel(NamedTuple):
    """The motion of a model that was fitted to markers by inverse kinematics.

    q : (n, n_q) - coordinates [rad, m]; position, rotation : (n, n_body, 3), (n, n_body, 3, 3) - positions
        [m] and rotations of the bodies in ground
    """

    model: Model
    q: Array
    position: Array
    rotation: Array

    def places(self, body: str, local: Array) -> Array:
        """Return (n, 3): places of a point of a body in ground; local : (3,) - the point in the body [m]."""
        b = self.model.names.bodies.index(body)
        return self.position[:, b] + self.rotation[:, b] @ local


def follow(
    spec: ModelSpec, path: Path, more: Mapping[str, Array] | None = None, frames: slice | None = None
) -> FollowedModel:
    """Fit the model to the markers of a trial, frame by frame.

    more : further markers, name -> (n, 3) [m]
    frames : the frames to fit, None = all
    """
    trial = read_markers(path)
    estimator = make(StageContext(RunConfig(name="follow", source="", model=""), spec, None)).estimator
    names = estimator.model.names.markers
    measured = np.full((len(trial.times), len(names), 3), np.nan)
    for name, column in find_markers(names, trial.names).items():
        measured[:, names.index(name)] = trial.positions[:, column]
    for name, places in (more or {}).items():
        measured[:, names.index(name)] = places
    found = []
    for time, frame in zip(trial.times[frames or slice(None)], measured[frames or slice(None)], strict=True):
        estimator.aim(float(time))
        estimator.estimate(frame, 1.0 / RATE)
        *_, q = estimator.placed_by(estimator.method)
        found.append([q.copy(), *(one.copy() for one in estimator.pose)])
    return FollowedModel(estimator.model, *(np.array(column) for column in zip(*found, strict=True)))


def write_loads(folder: Path, trial: str, path: Path) -> None:
    """Write the loads on feet and hands in a trial (stoop1, stoop2 or stoop3) to the .mot file `path`, as
    three force plates: `feet`, `box_r` and `box_l`.

    Both feet stand on one plate. The box loads each hand at the wrist, as in the model of Millard et al.
    (2019). The load of a hand is half the sum of the box's inertial force and of what the plate below the box
    has lost in comparison with the first second, in which nobody touches the box. Millard et al. used the
    plate's horizontal force with the opposite sign. While the hands pull before the box leaves the floor,
    that sign gives residuals of 10 N and 7 N m at the root, this one 4 N and 4 N m (RMS).
    """
    plates = table_of(folder, f"VUA2UHEI/2D/{trial}_F1Cop1F2Cop2_2D.csv")
    box = table_of(folder, f"VUA2UHEI/2D/{trial}_15kgBox_2D.csv")
    swing = savgol_filter(box[:, 1:3], WINDOW, ORDER, deriv=2, delta=1.0 / RATE, axis=0)
    lost = plates[:, [1, 3]] - plates[: int(RATE), [1, 3]].mean(axis=0)
    held = lost - BOX_KG * swing
    followed = follow(stoop_model(folder), markers_of(folder, trial))
    nothing = np.zeros(len(plates))
    columns = {
        "time": np.arange(len(plates)) / RATE,
        "feet_vx": plates[:, 7], "feet_vy": plates[:, 9], "feet_vz": nothing,
        "feet_px": plates[:, 10], "feet_py": plates[:, 12], "feet_pz": nothing,
    }  # fmt: skip
    for side in "rl":
        wrist, half = followed.places(f"hand_{side}", np.zeros(3)), np.column_stack([0.5 * held, nothing])
        for what, table in (("v", half), ("p", wrist)):
            columns |= {f"box_{side}_{what}{axis}": table[:, x] for x, axis in enumerate("xyz")}
    rows = ["\t".join(f"{value:.9g}" for value in row) for row in np.column_stack(list(columns.values()))]
    head = [
        trial,
        "version=1",
        f"nRows={len(rows)}",
        f"nColumns={len(columns)}",
        "endheader",
        "\t".join(columns),
    ]
    write_text(path, "\n".join([*head, *rows]) + "\n")


class L5S1(NamedTuple):
    """Extension moments of L5/S1 over time.

    times : (n,) - times at which all three moments are known [s]
    bottom_up : (n,) - moment that the laboratory computed from the ground reaction upwards [N m]
    at_joint, at_place : (n,) - moments computed by rtsim, about the model's joint and about the laboratory's
        position of L5/S1 [N m]
    """

    times: Array
    bottom_up: Array
    at_joint: Array
    at_place: Array


def l5s1_places(folder: Path, trial: str) -> Array:
    """Return the laboratory's position of L5/S1 in a trial, (n, 3) [m].

    It is computed from the laboratory's pelvis markers, whose distances are constant within 1e-8 m. In the
    neutral trial the laboratory's L5/S1 lies relative to these markers as the lumbar joint of the model lies
    relative to the model's markers, within 0.1 mm. The joint of the fitted model would be up to 18 mm away in
    deep bending, as the planar model cannot follow all markers at once.
    """
    spec = stoop_model(folder)
    own = {
        marker.name: np.array(marker.offset_mm[:2]) for marker in spec.markers if marker.segment == "pelvis"
    }
    trunk = next(body for body in spec.bodies if body.name == "middle_trunk")
    trial_markers = read_markers(markers_of(folder, trial))
    measured = np.stack(
        [trial_markers.positions[:, trial_markers.names.index(name), :2] for name in own], axis=1
    )
    local = np.array(list(own.values()))
    centre, middle = local.mean(axis=0), measured.mean(axis=1)
    # the turn that brings the markers nearest, as complex numbers
    a, b = ((x[..., 0] + 1j * x[..., 1]) for x in (local - centre, measured - middle[:, None]))
    turn = (b * a.conj()).sum(axis=1)
    apart = (np.array(trunk.in_parent.offset_mm[:2]) - centre) @ (1.0, 1.0j) * 1e-3 * turn / np.abs(turn)
    return np.column_stack([middle[:, 0] + apart.real, middle[:, 1] + apart.imag, np.zeros(len(apart))])


def l5s1_moments(folder: Path, trial: str, results: Results) -> L5S1:
    """Return the L5/S1 moments of a trial, computed by `rtsim analyse`, beside those that the laboratory
    computed from the ground reaction upwards ("bottom-up"); results : results of `rtsim analyse`
    """
    labels = {field.name: field.labels for field in results.session.fields}
    field = {
        name: results.fields[name][:, labels[name].index(of)]
        for name, of in (
            ("coordinate_moments", "lumbar_flexion"), ("segment_positions", "middle_trunk"),
            ("reaction_forces_ground", "middle_trunk"),
        )
    }  # fmt: skip
    since = results.times - results.times[0]
    times = since - results.session.meta["rates"]["delay_s"][0]
    apart = field["segment_positions"] - l5s1_places(folder, trial)
    apart = np.column_stack([np.interp(times, since, column) for column in apart.T])
    there = table_of(folder, f"VUA2UHEI/2D/{trial}_l5s1Bu.csv")
    joint = -field["coordinate_moments"]
    place = joint + np.cross(apart, field["reaction_forces_ground"])[:, 2]
    known = np.isfinite(place)
    bottom_up = np.interp(times, there[:, 0] - there[0, 0], there[:, 2])
    return L5S1(times[known], bottom_up[known], joint[known], place[known])
