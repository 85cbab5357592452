"""Landmarks that a marker set lacks, on a made-up leg and on recordings with markers taken away."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import calibrate, subject_for
from rtsim.subjects.calibration.landmarks import role_positions
from rtsim.subjects.calibration.natural import unit
from rtsim.subjects.calibration.stand_ins import LegMeasures, metatarsals, stand_ins, told_metatarsals
from rtsim.subjects.conventional.alignment import DEVICE_SPACING, tibial_torsion
from rtsim.subjects.conventional.chord import wand_rotation
from rtsim.subjects.hip_centre import UNKNOWN, hip_centres
from rtsim.subjects.markers.labs import load_lab
from rtsim.subjects.markers.spellings import as_spelled
from tests.rtsim.subjects.recordings import DATA, RECORDINGS, lower_limb, read, run

LEG = {
    "asis": (0.10, 1.00, 0.12), "asis_opposite": (0.10, 1.00, -0.12),
    "psis": (-0.06, 1.02, 0.05), "psis_opposite": (-0.06, 1.02, -0.05),
    "thigh_lateral": (0.03, 0.70, 0.17), "epicondyle_lateral": (0.03, 0.49, 0.13),
    "shank_lateral": (0.01, 0.25, 0.14), "malleolus_lateral": (0.00, 0.07, 0.12),
    "calcaneus": (-0.06, 0.03, 0.08), "toe": (0.13, 0.04, 0.09),
}  # fmt: skip
"""A right leg with the markers of Plug-in Gait, X forwards, Y up, Z to the right [m]."""
NAMES = dict(
    zip(LEG, ("RASI", "LASI", "RPSI", "LPSI", "RTHI", "RKNE", "RTIB", "RANK", "RHEE", "RTOE"), strict=True)
)
WIDTHS = {
    "RKneeWidth": 0.1,
    "RAnkleWidth": 0.07,
    "LKneeWidth": 0.1,
    "LAnkleWidth": 0.07,
    "MarkerDiameter": 0.014,
}


def trial(mirrored: bool = False, measures: dict[str, float] = WIDTHS, **other: str) -> MarkerTrial:
    """The person standing for a while; mirrored: with a left leg; other : role -> another name."""
    points = {other.get(role, NAMES[role]): x for role, x in LEG.items()}
    positions = np.repeat(np.array([list(points.values())]), 5, axis=0)
    positions = positions + 1e-4 * np.arange(5)[:, None, None]
    names = tuple(points)
    if mirrored:
        exchange = {"R": "L", "L": "R"}
        positions, names = positions * [1.0, 1.0, -1.0], tuple(exchange[n[0]] + n[1:] for n in names)
    return MarkerTrial(names, np.arange(5) / 100.0, positions, 100.0, "static.c3d", subject=measures)


def test_centres_lie_half_a_joint_beside_their_markers() -> None:
    """Protects the chord: centre half a width and a marker's radius off, and square to the bone."""
    known = {role: np.array([x]) for role, x in LEG.items()}
    found = stand_ins(known, LegMeasures(WIDTHS, "right", "harrington2007", UNKNOWN), "f").roles
    knee = 0.5 * (known["epicondyle_lateral"] + found["epicondyle_medial"])
    ankle = 0.5 * (known["malleolus_lateral"] + found["malleolus_medial"])
    assert np.linalg.norm(knee - known["epicondyle_lateral"]) == pytest.approx(0.057)
    assert np.linalg.norm(ankle - known["malleolus_lateral"]) == pytest.approx(0.042)
    assert np.sum((known["malleolus_lateral"] - ankle) * (knee - ankle)) == pytest.approx(0.0, abs=1e-12)
    assert ankle[0, 2] < known["malleolus_lateral"][0, 2]


def test_metatarsals_are_about_the_toe_and_parallel_to_the_ankle() -> None:
    """Protects the foot without metatarsals: its middle is the toe, its width square to its length."""
    known = {role: np.array([x]) for role, x in LEG.items()}
    across = np.array([[0.01, 0.0, 0.07]])
    found = metatarsals(known, across)
    first, fifth = found["metatarsal_1"], found["metatarsal_5"]
    np.testing.assert_allclose(0.5 * (first + fifth), known["toe"], atol=1e-15)
    along = known["toe"] - known["calcaneus"]
    assert np.sum((fifth - first) * along) == pytest.approx(0.0, abs=1e-15)
    assert np.sum(unit(fifth - first) * unit(across)) > 0.95


def test_both_legs_are_alike() -> None:
    """Protects the left leg: the mirror image of a right one has the same segments."""
    right = subject_for(trial(), side="right")
    left = subject_for(trial(mirrored=True), side="left")
    assert (right.side, left.side) == ("right", "left")
    for name, segment in right.segments.items():
        assert left.segments[name].length_mm == pytest.approx(segment.length_mm)
        assert left.segments[name].alpha_deg == pytest.approx(segment.alpha_deg)


@pytest.mark.parametrize("regression", ["davis1991", "hara2016", "harrington2007_full"])
def test_measures_of_one_leg_go_by_its_labels(regression: str) -> None:
    """Protects a leg that stands on the other side than it is labelled: its length is that of its widths."""
    measures = {**WIDTHS, "LKneeWidth": 0.09, "RLegLength": 0.9, "LLegLength": 0.84}
    right = trial(measures=measures)
    other = right._replace(positions=right.positions * [1.0, 1.0, -1.0])
    found, mirrored = (subject_for(one, side="right", hip_regression=regression) for one in (right, other))
    assert (found.side, mirrored.side) == ("right", "left")
    for name, segment in found.segments.items():
        assert mirrored.segments[name].length_mm == pytest.approx(segment.length_mm)


def test_each_stand_in_is_told_once() -> None:
    """Protects the notes: centres, metatarsals and what of them cannot be known, one sentence each."""
    notes = subject_for(trial(), side="right").notes
    for said in (
        "no medial epicondyle",
        "no medial malleolus",
        "no marker on the first and the fifth metatarsal",
    ):
        assert sum(said in note for note in notes) == 1
    assert any("inversion is 0 in this pose" in note for note in notes)


@pytest.mark.parametrize(
    ("there", "said"), [("1", "no marker on the fifth"), ("5", "no marker on the first")]
)
def test_a_metatarsal_that_is_marked_is_not_told_as_missing(there: str, said: str) -> None:
    """Protects the sentence on the toe of sets that mark one metatarsal beside it: the other one is named."""
    known = {f"metatarsal_{there}": np.array([[0.1, 0.02, 0.1]])}
    told = told_metatarsals(known)
    assert told.startswith(f"{said} metatarsal: the toe marker replaces the midpoint of the first and the")
    assert "the first and the fifth metatarsal" not in told


def test_markers_that_are_there_are_taken() -> None:
    """Protects medial markers of the static trial: their middle is the centre, and no width is needed."""
    static = trial(measures={})
    medial = {"RKNM": (0.03, 0.48, 0.03), "RMED": (0.02, 0.08, 0.05)}
    static = static._replace(
        names=(*static.names, *medial),
        positions=np.concatenate([static.positions, np.repeat([list(medial.values())], 5, axis=0)], axis=1),
    )
    subject = subject_for(trial(measures={}), static, side="right")
    assert subject.segments["shank"].length_mm == pytest.approx(
        1e3 * np.linalg.norm(np.subtract((0.03, 0.485, 0.08), (0.01, 0.075, 0.085))), abs=0.2
    )


def with_device(trial: MarkerTrial, turn: float) -> MarkerTrial:
    """A right leg's trial whose lateral epicondyle is a knee alignment device, its axis turned about the
    thigh [rad] from the frontal plane."""
    lateral, arm = np.array(LEG["epicondyle_lateral"]), DEVICE_SPACING / np.sqrt(2.0)
    out = np.array([-np.sin(turn), 0.0, np.cos(turn)])
    ahead = np.array([np.cos(turn), 0.0, np.sin(turn)])
    up = np.array([0.0, 1.0, 0.0])
    arms = {"RKAX": lateral + arm * out, "RKD1": lateral + arm * up, "RKD2": lateral + arm * ahead}
    keep = [k for k, name in enumerate(trial.names) if name != "RKNE"]
    shift = trial.positions[:, :1] - trial.positions[:1, :1]
    return trial._replace(
        names=(*(trial.names[k] for k in keep), *arms),
        positions=np.concatenate([trial.positions[:, keep], np.array([*arms.values()]) + shift], axis=1),
    )


@pytest.mark.parametrize("turn", [-0.2, 0.0, 0.3])
def test_a_device_tells_epicondyle_and_axis(turn: float) -> None:
    """Protects the knee alignment device: its origin is the epicondyle, and the thigh turns with its axis."""
    static = with_device(trial(), turn)
    known = role_positions(static, as_spelled(load_lab("cgm1"), static.names).right)
    found = stand_ins(known, LegMeasures(WIDTHS, "right", "harrington2007", UNKNOWN), "f").roles
    moved = static.positions[:, 0] - static.positions[0, 0]
    np.testing.assert_allclose(
        found["epicondyle_lateral"], np.array(LEG["epicondyle_lateral"]) + moved, atol=1e-9
    )
    across = unit(found["epicondyle_lateral"] - found["epicondyle_medial"])[0]
    assert np.arctan2(-across[0], across[2]) == pytest.approx(turn, abs=0.03)
    notes = subject_for(trial(), static, side="right").notes
    assert sum("knee alignment device" in note for note in notes) == 1


def test_a_device_on_one_side_is_told() -> None:
    """Protects a static trial that has lost one marker of the device: what is missing is named."""
    static = with_device(trial(), 0.0)
    keep = [k for k, name in enumerate(static.names) if name != "RKD2"]
    static = static._replace(names=tuple(static.names[k] for k in keep), positions=static.positions[:, keep])
    with pytest.raises(ConfigError, match=r"no frame shows epicondyle_lateral \(RKNE\), nor RKD2"):
        subject_for(trial(), static, side="right")


def test_stored_offsets_turn_the_axes() -> None:
    """Protects rotation offsets and torsion that a file stores: the axes turn by them, and it is told."""
    offsets = {"RThighRotation": 0.2, "RShankRotation": -0.1, "RTibialTorsion": -0.3}
    known = {role: np.array([x]) for role, x in LEG.items()}
    found = stand_ins(known, LegMeasures(WIDTHS | offsets, "right", "harrington2007", UNKNOWN), "f")
    hip, _ = hip_centres(
        known["asis"], known["asis_opposite"], 0.5 * (known["psis"] + known["psis_opposite"])
    )
    knee = 0.5 * (known["epicondyle_lateral"] + found.roles["epicondyle_medial"])
    ankle = 0.5 * (known["malleolus_lateral"] + found.roles["malleolus_medial"])
    args = known["epicondyle_lateral"], known["thigh_lateral"]
    assert wand_rotation(hip, knee, *args)[0] == pytest.approx(0.2)
    args = known["malleolus_lateral"], known["shank_lateral"]
    assert wand_rotation(knee, ankle, *args)[0] == pytest.approx(-0.1)
    torsion = tibial_torsion(
        knee, ankle, found.roles["fibula_head"] - ankle, known["malleolus_lateral"] - ankle, "right"
    )
    assert torsion == pytest.approx(-0.3)
    assert sum("measured tibial torsion of -17.2 degrees" in note for note in found.notes) == 1
    assert sum("rotation of 11.5 degrees" in note for note in found.notes) == 1


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        ({"RAnkleWidth": 0.07}, r"width of the right knee is needed; no RKneeWidth"),
        ({"RKneeWidth": 0.1}, r"width of the right ankle is needed; no RAnkleWidth"),
        ({"RKneeWidth": 0.0, "RAnkleWidth": 0.07}, "no RKneeWidth is stored"),
        (
            {"RKneeWidth": 0.0001, "RAnkleWidth": 0.07},
            "0.1 mm is not a possible width; is the value in metres",
        ),
        ({"RKneeWidth": 0.1, "RAnkleWidth": 0.3}, "300 mm is not a possible width.*20 to 200 mm"),
    ],
)
def test_widths_that_are_missing_or_none(measures: dict[str, float], said: str) -> None:
    """Protects the sentences on a width of 0, in metres, or not there."""
    with pytest.raises(ConfigError, match=said):
        calibrate(trial(measures=measures), load_lab("cgm1"))


def test_odd_measures_are_told_with_the_leg() -> None:
    """Protects a calibration from a width and a length that disagree with the other leg and the markers."""
    odd = WIDTHS | {"RKneeWidth": 0.15, "RLegLength": 0.7}
    notes = calibrate(trial(measures=odd), load_lab("cgm1")).notes
    assert sum("one is 100 mm, the other 150 mm" in note for note in notes) == 1
    assert sum("check the length of the leg: 700 mm were measured" in note for note in notes) == 1
    usual = calibrate(trial(measures=WIDTHS | {"RLegLength": 0.95}), load_lab("cgm1")).notes
    assert not any("check the width" in note or "length of the leg" in note for note in usual)


@pytest.mark.parametrize(
    ("role", "place", "said"),
    [
        ("thigh_lateral", (0.03, 0.70, -0.17), r"RTHI lies 2\d\d mm on the inner side of the right thigh"),
        ("thigh_lateral", (0.03, 0.70, 0.02), "RTHI lies .* on the inner side"),
        ("shank_lateral", (0.01, 0.25, -0.14), r"RTIB lies 2\d\d mm on the inner side of the right shank"),
        ("thigh_lateral", (0.01, 0.25, 0.14), "RTHI lies below the right thigh"),
        ("shank_lateral", (0.03, 0.70, 0.17), "RTIB lies above the right shank"),
    ],
)
def test_wands_in_the_wrong_place(role: str, place: tuple[float, float, float], said: str) -> None:
    """Protects from centres on the wrong side: wands of another leg, inner side or segment."""
    static = trial()
    static.positions[:, static.names.index(NAMES[role])] = place
    with pytest.raises(ConfigError, match=said):
        subject_for(trial(), static, side="right")


def test_a_static_trial_next_to_a_movement_is_asked_for(tmp_path: Path) -> None:
    """Protects from stand-ins that nobody needs: a walk asks for the static trial beside it."""
    for name in ("walk.c3d", "static.c3d"):
        (tmp_path / name).write_bytes(b"")
    walk = trial()._replace(source=str(tmp_path / "walk.c3d"))
    assert subject_for(walk, side="right").side == "right"
    walk.positions[:, :, 0] += np.linspace(0.0, 1.0, 5)[:, None]
    with pytest.raises(ConfigError, match=r"malleolus_medial \(RMED\).*next to it: static.c3d"):
        subject_for(walk, side="right")
    assert subject_for(walk, trial(), side="right").side == "right"


def test_exchanged_sides_are_told() -> None:
    """Protects the side of a leg without medial markers: it is told by heel, toe and lateral malleolus."""
    exchanged = trial(mirrored=True)
    exchange = {"R": "L", "L": "R"}
    exchanged = exchanged._replace(names=tuple(exchange[n[0]] + n[1:] for n in exchanged.names))
    subject = subject_for(exchanged, side="right")
    assert subject.side == "left"
    assert any("labelled right stand on the left" in note for note in subject.notes)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings are not here")
def test_a_child_with_and_without_extra_markers(side: str) -> None:
    """Protects the stand-ins on a recording: without medial malleolus and metatarsals flexion stays within 2
    degrees."""
    recording = RECORDINGS[4]
    walk, static = read(recording, 60)
    assert static is not None
    flexions = []
    for drop in ((), ("MMA", "D1M", "D5M")):
        still, moving = (_without(t, drop) for t in (static, walk))
        subject = subject_for(moving, still, side=side)
        assert "marker map mcgill" in subject.source
        flexions.append(run(lower_limb(), subject, moving, "minimised").knee_flexion)
    assert np.sqrt(np.mean((flexions[1] - flexions[0]) ** 2)) < 2.0


@pytest.mark.skipif(not (DATA / "gait_pycgm").is_dir(), reason="the recordings are not here")
def test_plug_in_gait_runs() -> None:
    """Protects Plug-in Gait as it is recorded: the map is found, both legs, and widths from the file."""
    folder = DATA / "gait_pycgm"
    subject = subject_for(folder / "Movement_trial.c3d", folder / "Static_trial.c3d", side="")
    assert subject.side == "both"
    assert "marker map cgm1" in subject.source
    assert any("knee centre put 76.5 mm" in note for note in subject.notes)


def _without(trial: MarkerTrial, drop: tuple[str, ...]) -> MarkerTrial:
    """A trial without some markers of both sides."""
    keep = [k for k, name in enumerate(trial.names) if name[1:] not in drop]
    return trial._replace(names=tuple(trial.names[k] for k in keep), positions=trial.positions[:, keep])
