"""Benchmark of marker sets: joint centres and angles of the conventional gait model against those of Vicon
Nexus, and the joint angles that rtsim defines itself from fewer markers against those from all.

Recordings into which Nexus wrote joint centres and angles are solved as `rtsim analyse` does. Then the
children with Oxford Foot Model markers are solved as if they had worn Plug-in Gait alone: the medial
malleolus is replaced by the chord construction of the ankle, and the metatarsals by the toe marker.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.figures import BenchFigure, say
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.c3d import read_c3d, whole_content
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.inputs.recorded import RecordingInput
from rtsim.live.result_session import ResultSession
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.conventional.alignment import DEVICE_SPACING, by_device
from rtsim.subjects.conventional.chord import TURNS
from rtsim.subjects.conventional.leg import LegMarkers, standing_leg
from rtsim.subjects.conventional.measures import stored_measures
from rtsim.subjects.hip_centre import hip_centres

Array = NDArray[np.float64]

FOLDER = Path("../shared/data")
PYCGM, MCGILL = "gait_pycgm", "gait_mcgill"
RECORDINGS = {
    f"{PYCGM}/Static_trial.c3d": "", f"{PYCGM}/Movement_trial.c3d": f"{PYCGM}/Static_trial.c3d",
    f"{MCGILL}/HC002D_static.c3d": "", f"{MCGILL}/HC002D_straight.c3d": f"{MCGILL}/HC002D_static.c3d",
    f"{MCGILL}/HC030A_static.c3d": "", f"{MCGILL}/HC030A_straight.c3d": f"{MCGILL}/HC030A_static.c3d",
    f"{MCGILL}/HC030A_turn.c3d": f"{MCGILL}/HC030A_static.c3d",
}  # fmt: skip
"""Trial -> its static trial, "" = the trial is a static trial itself."""
LACKING = tuple(f"{side}{name}" for side in "LR" for name in ("MMA", "D1M", "D5M"))
"""Markers of the Oxford Foot Model that Plug-in Gait does not use."""
MARKERS = ("THI", "KNE", "TIB", "ANK", "TOE", "HEE")
UP = np.array([0.0, 1.0, 0.0])
CENTRES = {"hip": "FEP", "knee": "FEO", "ankle": "TIO"}
ANGLES = {"pelvis": "Pelvis", "hip": "Hip", "knee": "Knee", "ankle": "Ankle", "foot": "FootProgress"}
SIDES = {"r": "R", "l": "L"}
STAGES = ("kinematics", "progression", "conventional_angles")
OWN = ("joint_angles", "pelvis_angles", "foot_progression")
"""Results with angles that rtsim defines itself, unlike those of the conventional gait model."""
MOST_MM, MOST_DEG, MOST_OFFSET, MOST_DEVICE, MOST_FLEXION = 0.01, 0.01, 0.001, 1e-6, 2.0
"""Limits of differences: joint centres [mm]; angles, static foot offsets, thigh rotation by a knee alignment
device, knee flexion by fewer markers [deg]."""


class SolvedSet(NamedTuple):
    """Results of a recording that was solved with one marker set.

    values : (field, label) -> (n,) angles [deg] or (n, 3) joint centres [m]
    rms : root mean square residual of the markers [mm]
    """

    values: dict[tuple[str, str], Array]
    rms: float


def run(folder: Path | None = None) -> list[BenchFigure]:
    """Return the benchmark results of the recordings below a folder, None = the usual one. Missing recordings
    are reported; ConfigError if all are missing.
    """
    folder = folder or FOLDER
    there = {name: static for name, static in RECORDINGS.items() if (folder / name).is_file()}
    if not there:
        raise ConfigError(
            f"none of the {len(RECORDINGS)} recordings was found; the first one is {next(iter(RECORDINGS))}",
            where=str(folder),
            remedy="give the folder that contains the recordings",
        )
    for name in RECORDINGS.keys() - there.keys():
        say(f"marker-sets: the recording {name} is missing")
    worst = {"centre_mm": 0.0, "angle_deg": 0.0, "offset_deg": 0.0}
    figures: list[BenchFigure] = []
    for name, static in there.items():
        say(f"marker-sets: {name}")
        path = folder / name
        trial, still = read_c3d(path), read_c3d(folder / static) if static else None
        full = solved(trial, still, str(path))
        found = {"centre_mm": centres_off(full, path), "angle_deg": angles_off(full, path)}
        if not static:
            found["offset_deg"] = offsets_off(trial)
        for key, value in found.items():
            worst[key] = max(worst[key], value)
        figures.append(BenchFigure(f"marker_rms_mm.{Path(name).stem}", full.rms, "mm"))
        if static.startswith(MCGILL):
            figures += with_fewer(trial, still, full, path)
    limits = {
        "centre_mm": (MOST_MM, "mm"),
        "angle_deg": (MOST_DEG, "deg"),
        "offset_deg": (MOST_OFFSET, "deg"),
    }
    asked = [BenchFigure(key, worst[key], unit, limit, "lower") for key, (limit, unit) in limits.items()]
    return [*asked, BenchFigure("kad_deg", device_off(), "deg", MOST_DEVICE, "lower"), *figures]


def solved(trial: MarkerTrial, static: MarkerTrial | None, source: str) -> SolvedSet:
    """Solve both legs of a recording with the stages of `rtsim analyse`; source : its path, for the run's
    config
    """
    subject = subject_for(trial, static, side="both")
    stages = make_stages(
        RunConfig(name="bench", source=source, stages=STAGES), load_model("both_legs"), subject
    )
    recording = RecordingInput(trial)
    for stage in stages:
        stage.warm()
    session = ResultSession(stages, recording.session, {})
    wanted = {
        spec.name: spec for spec in session.fields.session.fields
        if spec.name in OWN or (spec.name.startswith("cgm_") and spec.role == "value")
    }  # fmt: skip
    kept: dict[str, list[Array]] = {name: [] for name in wanted}
    for _ in trial.times:
        frame = recording.wait(lambda: None)
        assert frame is not None
        session.run(frame)
        for stage in stages:
            stage.report()
        for name, rows in kept.items():
            rows.append(session.fields.arrays[name].copy())
    values: dict[tuple[str, str], Array] = {}
    for name, spec in wanted.items():
        data = np.array(kept[name])
        scaled = np.degrees(data) if spec.unit == "rad" else data
        values |= {(name, label): scaled[:, k] for k, label in enumerate(spec.labels)}
    return SolvedSet(values, stages[0].gauges()["marker_rms_mm"])


def centres_off(found: SolvedSet, path: Path) -> float:
    """Return the largest difference between a coordinate of a joint centre in the results and in the file
    that Nexus wrote [mm]."""
    nexus = read_c3d(path, virtual=True)
    theirs = {name: nexus.positions[:, k] for k, name in enumerate(nexus.names)}
    off = [
        found.values["cgm_joint_centres", f"{joint}_{end}"] - theirs[letter + name]
        for joint, name in CENTRES.items() for end, letter in SIDES.items()
    ]  # fmt: skip
    return 1e3 * float(np.nanmax(np.abs(off)))


def angles_off(found: SolvedSet, path: Path) -> float:
    """Return the largest difference between an angle in the results and in the file that Nexus wrote
    [deg]."""
    content, _ = whole_content(path)
    point = content.parameters["POINT"]
    labels = [str(label).strip() for key in ("LABELS", "LABELS2") for label in point.get(key, [])]
    most = 0.0
    for joint, name in ANGLES.items():
        for end, letter in SIDES.items():
            own = [x for (field, label), x in found.values.items()
                   if field == f"cgm_{joint}_angles" and label.endswith(f"_{end}")]  # fmt: skip
            theirs = content.points[:, labels.index(f"{letter}{name}Angles")]
            off = (np.stack(own, axis=1) - theirs + 180.0) % 360.0 - 180.0
            most = max(most, float(np.nanmax(np.abs(off))))
    return most


def offsets_off(trial: MarkerTrial) -> float:
    """Return the largest difference between the static offset angles of the feet (plantar flexion, rotation)
    that rtsim finds in a static trial and those that Nexus stored in its file [deg].

    They are computed with the sole assumed level and without; for each foot the better agreement counts, as
    the file does not state which of these Nexus used.
    """
    x = {name: trial.positions[:, k] for k, name in enumerate(trial.names)}
    measures, most = stored_measures(trial.subject), 0.0
    back = x["SACR"] if "SACR" in x else 0.5 * (x["LPSI"] + x["RPSI"])
    hips = hip_centres(x["RASI"], x["LASI"], back, "davis1991", measures)
    for side, letter, hip in (("right", "R", hips[0]), ("left", "L", hips[1])):
        thigh, knee, shank, ankle, toe, heel = (x[letter + name] for name in MARKERS)
        markers, own = (
            LegMarkers(thigh=thigh, knee=knee, shank=shank, ankle=ankle, toe=toe, heel=heel),
            measures.of(side),
        )
        found = [
            standing_leg(hip, markers, measures, side, UP, flat=flat, where=trial.source)[1]
            for flat in (True, False)
        ]
        stored = np.array([own.static_plant_flexion, own.static_rotation], float)
        most = max(most, min(float(np.abs(np.degrees(one - stored)).max()) for one in np.array(found)))
    return most


def with_fewer(
    trial: MarkerTrial, static: MarkerTrial | None, full: SolvedSet, path: Path
) -> list[BenchFigure]:
    """Solve a recording with the markers of Plug-in Gait alone; return for each joint angle that rtsim
    defines itself the RMS difference from the results with all markers.

    full : results with all markers; path : file of the recording
    """
    few = solved(bare(trial), bare(static) if static else None, str(path))
    figures = [BenchFigure(f"marker_rms_mm.{path.stem}.plug_in_gait", few.rms, "mm")]
    for (field, label), values in full.values.items():
        if field not in OWN or (field, label) not in few.values:
            continue
        off = float(np.sqrt(np.nanmean((few.values[field, label] - values) ** 2)))
        bound = (MOST_FLEXION, "lower") if label.startswith("knee_flexion") else (None, "")
        figures.append(BenchFigure(f"fewer_markers_deg.{label}.{path.stem}", off, "deg", *bound))
    return figures


def bare(trial: MarkerTrial) -> MarkerTrial:
    """Return the trial with only the markers that Plug-in Gait uses."""
    kept = [k for k, name in enumerate(trial.names) if name not in LACKING]
    positions = np.ascontiguousarray(trial.positions[:, kept])
    return trial._replace(names=tuple(trial.names[k] for k in kept), positions=positions)


def device_off() -> float:
    """Return the largest error of the rotation of a thigh that is computed from a knee alignment device,
    over synthetic legs of both sides [deg].
    """
    rng, most, radius = np.random.default_rng(7), 0.0, 0.055
    for side, turn in TURNS.items():
        for rotation in (-0.4, -0.1, 0.0, 0.2, 0.5):
            axes = np.linalg.qr(rng.normal(size=(50, 3, 3)))[0]
            axes[:, :, 2] *= np.linalg.det(axes)[:, None]
            up, out, _ = np.moveaxis(axes, 2, 0)
            knee, arm, behind = (
                rng.normal(size=(50, 3)),
                DEVICE_SPACING / np.sqrt(2.0),
                -turn * np.cross(up, out),
            )
            lateral = knee + radius * out
            device = (lateral + arm * out, lateral + arm * behind, lateral + arm * up)
            wand = knee + 0.2 * up + 0.09 * (np.cos(rotation) * out + np.sin(rotation) * behind)
            found = by_device(knee + 0.4 * up, device, wand, radius, side)
            most = max(most, abs(float(np.degrees(found.rotation - rotation))))
    return most
