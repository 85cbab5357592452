"""The conventional gait model against the joint centres and angles that Vicon Nexus wrote into its files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rtsim.files.markers.c3d import read_c3d
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.conventional.angles import foot_progression, nearest_axis, pelvis_angles, walking_axes
from rtsim.subjects.conventional.axes import pelvis_frame
from rtsim.subjects.conventional.foot import FootOffsets
from rtsim.subjects.conventional.leg import LegMarkers, leg_angles, standing_leg, walking_leg
from rtsim.subjects.conventional.measures import check_measures, stored_measures
from rtsim.subjects.hip_centre import hip_centres
from tests.naive.conventional import axes, cardan, chord, davis

UP = np.array([0.0, 1.0, 0.0])  # of the ground frame
STATICS = {  # and whether Nexus took the feet for flat
    "gait_pycgm/Static_trial.c3d": False,
    "gait_mcgill/HC002D_static.c3d": True,
    "gait_mcgill/HC030A_static.c3d": True,
}
WALKS = (
    "gait_pycgm/Movement_trial.c3d", "gait_mcgill/HC002D_straight.c3d", "gait_mcgill/HC030A_straight.c3d",
    "gait_mcgill/HC030A_turn.c3d",
)  # fmt: skip
SIDES = {"right": "R", "left": "L"}


@cache
def read(path: Path) -> tuple[MarkerTrial, dict[str, np.ndarray]]:
    """The markers and centres in the ground frame [m], and the angles as Nexus wrote them [deg]."""
    ezc3d = pytest.importorskip("ezc3d")
    content = ezc3d.c3d(str(path))
    point = content["parameters"]["POINT"]
    labels = [*point["LABELS"]["value"], *point.get("LABELS2", {"value": []})["value"]]
    data = np.moveaxis(content["data"]["points"][:3], 0, -1)
    angles = {name: data[k] for k, name in enumerate(labels) if name.endswith("Angles")}
    return read_c3d(path, virtual=True), angles


def found(shared: Path, name: str):
    """Positions by label, pelvis, hips and measures of a file."""
    if not (shared / "data" / name).is_file():
        pytest.skip(f"{name} is not there")
    trial, angles = read(shared / "data" / name)
    x = {label: trial.positions[:, k] for k, label in enumerate(trial.names)}
    measures = stored_measures(trial.subject)
    check_measures(measures, name)
    back = x["SACR"] if "SACR" in x else 0.5 * (x["LPSI"] + x["RPSI"])
    hips = hip_centres(x["RASI"], x["LASI"], back, "davis1991", measures)
    pelvis = pelvis_frame(x["RASI"], x["LASI"], back)
    return x, angles, measures, dict(zip(SIDES, hips, strict=True)), pelvis


def markers_of(x: dict[str, np.ndarray], letter: str) -> LegMarkers:
    return LegMarkers(*(x[letter + name] for name in ("THI", "KNE", "TIB", "ANK", "TOE", "HEE")))


def check(pose, pelvis, x, nexus, side, forwards) -> None:
    """Centres to 0.001 mm and all angles to 0.0001 degrees, of one leg."""
    letter = SIDES[side]
    for centre, name in (("hip", "FEP"), ("knee", "FEO"), ("ankle", "TIO")):
        off = np.abs(getattr(pose.centres, centre) - x[letter + name])
        assert np.nanmax(off) < 1e-6, name
    angles = leg_angles(pelvis, pose, side)
    walking = walking_axes(forwards, UP)
    angles["pelvis"] = pelvis_angles(walking, pelvis, side)
    angles["foot"] = foot_progression(walking, pose.foot, side)
    names = {"hip": "Hip", "knee": "Knee", "ankle": "Ankle", "pelvis": "Pelvis", "foot": "FootProgress"}
    for joint, name in names.items():
        off = (np.degrees(angles[joint]) - nexus[f"{letter}{name}Angles"] + 180.0) % 360.0 - 180.0
        assert np.nanmax(np.abs(off)) < 1e-4, name


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", STATICS)
def test_static(shared: Path, name: str, side: str) -> None:
    """Protects hips by Davis, the chord, the standing foot and its offsets against a static of Nexus."""
    x, nexus, measures, hips, pelvis = found(shared, name)
    markers, own = markers_of(x, SIDES[side]), measures.of(side)
    pose, offsets = standing_leg(hips[side], markers, measures, side, UP, flat=STATICS[name], where=name)
    off = np.degrees(
        [offsets.plant_flexion - own.static_plant_flexion, offsets.rotation - own.static_rotation]
    )
    assert np.abs(off).max() < 1e-4
    check(pose, pelvis, x, nexus, side, nearest_axis(pelvis[0, :, 0], UP))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", WALKS)
def test_walk(shared: Path, name: str, side: str) -> None:
    """Protects the foot by stored offsets, pelvis and foot progression against walks and a turn of Nexus."""
    x, nexus, measures, hips, pelvis = found(shared, name)
    own = measures.of(side)
    offsets = FootOffsets(own.static_plant_flexion, own.static_rotation)
    pose = walking_leg(hips[side], markers_of(x, SIDES[side]), measures, side, offsets, name)
    check(pose, pelvis, x, nexus, side, nearest_axis(pelvis[0, :, 0], UP))


def test_twins(shared: Path) -> None:
    """Protects hips, chord, axes and Cardan angles against a search and rotations of another library."""
    x, _, measures, hips, pelvis = found(shared, WALKS[0])
    own, k = measures.left, 100
    mm = davis(877.0, 866.0, 1e3 * own.asis_trochanter, 306.0, 14.0)
    middle = 0.5 * (x["RASI"][k] + x["LASI"][k])
    hip = middle + 1e-3 * (mm[0] * pelvis[k, :, 0] + mm[2] * pelvis[k, :, 1] + mm[1] * pelvis[k, :, 2])
    np.testing.assert_allclose(hips["left"][k], hip, atol=1e-9)
    knee = chord(hip, x["LKNE"][k], x["LTHI"][k], 0.079)
    ankle = chord(knee, x["LANK"][k], x["LTIB"][k], 0.0495)
    thigh, shank = axes(hip - knee, x["LKNE"][k] - knee), axes(knee - ankle, x["LANK"][k] - ankle)
    offsets = FootOffsets(own.static_plant_flexion, own.static_rotation)
    pose = walking_leg(hips["left"], markers_of(x, "L"), measures, "left", offsets, WALKS[0])
    np.testing.assert_allclose(pose.centres.ankle[k], ankle, atol=1e-9)
    found_angles = leg_angles(pelvis, pose, "left")
    a, b, c = cardan(pelvis[k].T @ thigh)
    np.testing.assert_allclose(found_angles["hip"][k], [-a, -b, -c], atol=1e-7)
    a, b, c = cardan(thigh.T @ shank)
    np.testing.assert_allclose(found_angles["knee"][k], [a, -b, -c], atol=1e-7)
