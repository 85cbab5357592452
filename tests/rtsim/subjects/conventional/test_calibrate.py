"""A subject's record of the conventional gait model, from made-up static trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rtsim.errors import ConfigError
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.conventional.record import ROLES, ConventionalLeg
from rtsim.subjects.subject import load_subject, save_subject
from tests.rtsim.subjects.conventional.persons import MEASURES, person

WALK = {"source": "walk.c3d", "speed": 0.02}
SIDES = ("right", "left")


def legs_of(walk, static=None) -> tuple[dict[str, ConventionalLeg], tuple[str, ...]]:
    """Records and notes of a person with both legs."""
    subject = subject_for(walk, static, side="")
    assert subject.side == "both"
    return subject.conventional, subject.notes


@pytest.mark.parametrize("side", SIDES)
def test_plain_set(side: str) -> None:
    """Protects the record of a set without any offset: names, radii, hip, and the foot as it stands."""
    leg = legs_of(person(**WALK), person())[0][side]
    letter, other = ("R", "L") if side == "right" else ("L", "R")
    assert set(leg.markers) == set(ROLES)
    assert (leg.markers["asis"], leg.markers["asis_opposite"]) == (f"{letter}ASI", f"{other}ASI")
    assert (leg.knee_radius_mm, leg.ankle_radius_mm) == pytest.approx((57.0, 42.0))
    assert leg.hip_mm[1] * (-1.0 if side == "right" else 1.0) > 60.0
    assert (leg.thigh_rotation_deg, leg.shank_rotation_deg, leg.tibial_torsion_deg) == (0.0, 0.0, 0.0)
    assert 5.0 < leg.plant_flexion_deg < 60.0
    assert leg.stands == ""


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("thigh", [0.25, -0.15])
def test_knee_alignment_device(side: str, thigh: float) -> None:
    """Protects the chain from a static trial with a device to the offset that walks take, on both sides."""
    legs, notes = legs_of(person(thigh, **WALK), person(thigh, device=True))
    assert np.radians(legs[side].thigh_rotation_deg) == pytest.approx(thigh, abs=1e-8)
    assert any(
        f"{side} thigh rotation offset computed from the knee alignment device" in note for note in notes
    )


@pytest.mark.parametrize("side", SIDES)
def test_medial_markers_and_torsion(side: str) -> None:
    """Protects offsets, widths and torsion by the medial markers of the static trial alone."""
    bare = {name: x for name, x in MEASURES.items() if "Width" not in name}
    static = person(0.2, 0.1, -0.3, medial=True)
    leg = legs_of(person(0.2, 0.1, -0.3, **WALK), static)[0][side]
    assert np.radians(leg.thigh_rotation_deg) == pytest.approx(0.2, abs=1e-8)
    assert np.radians(leg.shank_rotation_deg) == pytest.approx(0.1, abs=1e-8)
    assert np.radians(leg.tibial_torsion_deg) == pytest.approx(-0.3, abs=1e-3)
    assert (leg.knee_radius_mm, leg.ankle_radius_mm) == pytest.approx((57.0, 42.0))
    without = static._replace(subject=bare)
    legs, notes = legs_of(person(0.2, 0.1, -0.3, measures=bare, **WALK), without)
    assert legs[side].knee_radius_mm == pytest.approx(57.0)
    assert not any("no angles of the conventional" in note for note in notes)


def test_a_measured_torsion_is_not_thrown_away() -> None:
    """Protects a torsion that somebody measured from markers that say otherwise, and says both."""
    measures = {**MEASURES, "RTibialTorsion": -0.4}
    static = person(0.0, 0.0, -0.3, medial=True, measures=measures)
    legs, notes = legs_of(person(0.0, 0.0, -0.3, measures=measures, **WALK), static)
    assert np.radians(legs["right"].tibial_torsion_deg) == pytest.approx(-0.4)
    assert np.radians(legs["left"].tibial_torsion_deg) == pytest.approx(-0.3, abs=1e-3)
    assert any("the given right tibial torsion of -22.9 degrees" in note for note in notes)


def test_offsets_of_a_processed_trial_stay() -> None:
    """Protects what Plug-in Gait has stored with the walk, whatever the static trial would say."""
    stored = {
        **MEASURES, "RStaticPlantFlex": 0.2, "RStaticRotOff": 0.03, "RThighRotation": 0.1,
        "RShankRotation": -0.05, "RTibialTorsion": 0.0,
    }  # fmt: skip
    legs, _ = legs_of(person(measures=stored, **WALK), person(0.3, medial=True))
    right = legs["right"]
    found = (
        right.thigh_rotation_deg,
        right.shank_rotation_deg,
        right.plant_flexion_deg,
        right.foot_rotation_deg,
    )
    assert np.radians(found) == pytest.approx((0.1, -0.05, 0.2, 0.03))
    assert np.radians(legs["left"].thigh_rotation_deg) == pytest.approx(0.3, abs=1e-8)


def test_a_standing_foot_is_that_of_its_own_trial_alone(tmp_path: Path) -> None:
    """Protects walks from the foot of a static trial: a subject's file does not keep how the foot stood."""
    legs, notes = legs_of(person())
    assert {leg.stands for leg in legs.values()} == {"flat"}
    assert any("sole was assumed horizontal" in note for note in notes)
    subject = subject_for(person(0.2, 0.1, -0.3, medial=True), side="")
    save_subject(tmp_path / "s.toml", subject)
    again = load_subject(tmp_path / "s.toml")
    assert {leg.stands for leg in again.conventional.values()} == {""}
    for side in SIDES:
        assert again.conventional[side].markers == subject.conventional[side].markers
        assert again.conventional[side].hip_mm == subject.conventional[side].hip_mm
        assert again.conventional[side].plant_flexion_deg == subject.conventional[side].plant_flexion_deg


def test_a_walk_alone_knows_no_foot() -> None:
    """Protects against foot offsets of a moving leg: ankle and foot are not told, and it is said."""
    legs, notes = legs_of(person(**WALK))
    assert {leg.plant_flexion_deg for leg in legs.values()} == {None}
    assert sum("give one with --static" in note for note in notes) == 2


def test_a_static_trial_that_moves_is_named() -> None:
    """Protects who gives a walk as static trial: the sentence says which file, and that it moves."""
    legs, notes = legs_of(person(**WALK), person(source="other.c3d", speed=0.05))
    assert {leg.plant_flexion_deg for leg in legs.values()} == {None}
    assert sum("other.c3d is not a static trial, because the leg moves" in note for note in notes) == 2


def test_one_leg_does_not_suffer_for_the_other() -> None:
    """Protects a leg whose own measures are right from the other's that are not."""
    given = {**MEASURES, "RAnkleWidth": 0.00007, "RShankRotation": 20.0}
    walk, static = person(measures=given, **WALK), person(measures=given)
    assert set(subject_for(walk, static, side="left").conventional) == {"left"}


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (
            {"RLegLength": 0.0, "LLegLength": 0.87},
            "right leg length is needed, but the trial stores no RLegLength",
        ),
        ({"RLegLength": 0.00088}, r"right leg length of 0\.88 mm is impossible .*metres"),
        ({"InterAsisDistance": 2.4}, "the distance between both ASIS of 2400 mm"),
    ],
)
def test_what_cannot_be_is_said_and_our_own_angles_stay(measures: dict[str, float], said: str) -> None:
    """Protects persons whose measures are missing or wrong: a sentence, no angles, and no refusal."""
    given = {**MEASURES, **measures}
    legs, notes = legs_of(person(measures=given, **WALK), person(measures=given))
    assert "right" not in legs
    found = [note for note in notes if "no angles of the conventional gait model of the right leg" in note]
    assert len(found) == 1
    assert pytest.importorskip("re").search(said, found[0])
    static = Path(person().source).name
    assert static not in found[0]  # which is told before the sentence


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("foot_rotation_deg", "", "give both or neither"),
        ("knee_radius_mm", "knee_radius_mm = 0.057\n", "knee_radius_mm"),
        ("markers", "", "markers"),
    ],
)
def test_a_spoilt_record_is_refused(tmp_path: Path, key: str, text: str, said: str) -> None:
    """Protects a subject's file that was edited: the key and what is allowed."""
    save_subject(tmp_path / "s.toml", subject_for(person(**WALK), person(), side=""))
    lines = (tmp_path / "s.toml").read_text(encoding="utf-8").splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("[conventional.right]"))
    at = next(i for i, line in enumerate(lines[start:], start) if key in line)
    lines[at : at + (3 if key == "markers" else 1)] = [text or ("\n" if key != "markers" else lines[at])]
    (tmp_path / "s.toml").write_text("".join(lines), encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        load_subject(tmp_path / "s.toml")


def test_a_toe_that_no_walk_shows_is_told() -> None:
    """Protects against angles of a leg that are silently not there: the marker is named."""
    walk = person(**WALK)
    bare = walk.positions.copy()
    bare[:, walk.names.index("LTOE")] = np.nan
    legs, notes = legs_of(walk._replace(positions=bare), person())
    assert "toe" in legs["right"].markers
    assert "toe" not in legs["left"].markers
    assert any(
        "no angles of the left ankle and foot by the conventional gait model, because LTOE is not among"
        in note
        for note in notes
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"RTibialTorsion": -20.0}, "right tibial torsion of -20 rad.*degrees"),
        ({"RThighRotation": 12.0}, "right thigh rotation of 12 rad"),
        ({"RShankRotation": 9.0}, "right shank rotation of 9 rad"),
        ({"RKneeWidth": 0.07, "RAnkleWidth": 0.1}, "right ankle is 100 mm wide and the knee 70 mm"),
    ],
)
def test_our_own_legs_refuse_measures_of_nobody(other: dict[str, float], said: str) -> None:
    """Protects the stand-ins of our own model from angles in degrees, where radians are due, and from widths
    of knee and ankle that are exchanged."""
    with pytest.raises(ConfigError, match=said):
        subject_for(person(**WALK), person(measures={**MEASURES, **other}), side="right")


def test_shank_marker_on_the_skin_beside_a_device() -> None:
    """Protects a knee alignment device with a shank marker without a wand: the place of the knee is where the
    device's arms meet, not its marker far outside."""
    trial = person(device=True)
    x = trial.positions.copy()
    for letter, outwards in (("R", 1.0), ("L", -1.0)):
        x[:, trial.names.index(f"{letter}TIB"), 2] -= 0.05 * outwards
    subject = subject_for(trial._replace(positions=x), None, side="")
    assert any(
        "the epicondyle and the axis of the knee are placed by the knee alignment" in note
        for note in subject.notes
    )


def test_exchanged_markers_of_a_device_are_told() -> None:
    """Protects the sentence on KD1 and KD2 at each other's places."""
    names = {"RKD1": "RKD2", "RKD2": "RKD1"}
    trial = person(device=True)
    swapped = trial._replace(names=tuple(names.get(name, name) for name in trial.names))
    with pytest.raises(ConfigError, match="if RKD1 and RKD2 are exchanged"):
        subject_for(swapped, None, side="right")


def test_a_stored_offset_that_the_device_contradicts_is_told() -> None:
    """Protects against an alignment device that is left aside in silence, as Plug-in Gait's offsets stay."""
    stored = {**MEASURES, "RStaticPlantFlex": 0.2, "RStaticRotOff": 0.03, "RThighRotation": 0.0}
    told = (
        "the right thigh rotation offset stored by Plug-in Gait, 0.0 degrees, was used; by the knee alignment"
    )
    for thigh, count in ((0.25, 1), (0.0, 0)):
        walk, static = person(thigh, measures=stored, **WALK), person(thigh, device=True)
        legs, notes = legs_of(walk, static)
        assert legs["right"].thigh_rotation_deg == 0.0
        assert sum(told in note for note in notes) == count


def test_one_leg_length_that_is_missing_is_told_of_the_other_leg() -> None:
    """Protects the hip that Davis puts by the mean of both lengths: by one alone it is told, and close."""
    measures = {name: x for name, x in MEASURES.items() if name != "LLegLength"}
    legs, notes = legs_of(person(measures=measures, **WALK), person(measures=measures))
    assert set(legs) == {"right"}
    said = [note for note in notes if "no left leg length is known: the right hip centre" in note]
    assert len(said) == 1
    both = legs_of(person(**WALK), person())[0]["right"]
    assert 0.0 < np.abs(np.subtract(legs["right"].hip_mm, both.hip_mm)).max() < 1.0


@pytest.mark.parametrize(("height", "stature"), [(1.68, 1680.0), (0.0, None)])
def test_stored_height_is_the_stature(height: float, stature: float | None) -> None:
    """Protects the group PROCESSING's Height, of which 0 means that nobody was measured."""
    subject = subject_for(person(measures={**MEASURES, "Height": height}), side="")
    assert subject.stature_mm == stature


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"RAsisTrocanterDistance": 0.00007}, "from the ASIS to the trochanter: the stored value is 0.07"),
        ({"InterAsisDistance": 0.12}, "between both ASIS: the stored value is 120 mm, but the ASIS markers"),
        ({"RAsisTrocanterDistance": 0.08, "InterAsisDistance": 0.2}, ""),
    ],
)  # fmt: skip
def test_odd_measures_of_the_pelvis_are_told(odd: dict[str, float], said: str) -> None:
    """Protects the hip by Davis from a distance in another unit, or of another person."""
    _, notes = legs_of(person(measures=MEASURES | odd))
    told = [note for note in notes if "check the" in note and "distance" in note]
    assert (len(told) == 1 and said in told[0]) if said else not told


def test_measures_of_trial_and_static_trial_that_differ_are_told() -> None:
    """Protects from widths of another day: whose are taken is said, where they are not the same."""
    other = MEASURES | {"RKneeWidth": 0.11, "LLegLength": 0.8705}
    legs, notes = legs_of(person(measures=other, **WALK), person())
    told = [note for note in notes if "store different measures" in note]
    assert len(told) == 1
    assert "RKneeWidth (100 and 110 mm); those of the static trial" in told[0]
    assert legs["right"].knee_radius_mm == pytest.approx(57.0)
    assert not any("store different" in note for note in legs_of(person(**WALK), person())[1])


def test_a_walk_in_the_place_of_a_static_trial_is_told() -> None:
    """Protects axes of the feet, which are those of a person who stands."""
    said = "check the calibration: the person moves by 0.4 m in the calibration trial"
    walking = person(source="static.c3d", speed=0.1)
    for static, count in ((walking, 1), (person(), 0)):
        notes = subject_for(person(**WALK), static, side="right").notes
        assert sum(said in note for note in notes) == count


@pytest.mark.parametrize("lost", [{}, dict.fromkeys(MEASURES, 0.0)])
def test_measures_that_the_walk_alone_stores(lost: dict[str, float]) -> None:
    """Protects the angles where the static trial was exported without measures, or before they were typed in:
    legs are as if both trials stored them, and nothing is said to be missing."""
    expected, _ = legs_of(person(**WALK), person())
    legs, notes = legs_of(person(**WALK), person(measures=lost))
    assert legs == expected
    assert not any("is stored" in note for note in notes)


def test_the_distance_of_the_asis_in_a_walk_is_told() -> None:
    """Protects the one sentence on hips that Plug-in Gait would put by its static trial, with the distance
    that was taken; a static trial, a stored distance and a person who stands say nothing."""
    bare = {name: x for name, x in MEASURES.items() if name != "InterAsisDistance"}
    told = [note for note in legs_of(person(measures=bare, **WALK))[1] if "InterAsisDistance" in note]
    assert len(told) == 1
    assert "240.0 mm between the ASIS markers" in told[0]
    for walk, static in (
        (person(measures=bare, **WALK), person(measures=bare)),
        (person(**WALK), None),
        (person(measures=bare), None),
    ):
        assert not any("InterAsisDistance" in note for note in legs_of(walk, static)[1])
