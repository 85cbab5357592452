"""Markers of a calibration beside their landmarks: told with names, and sound calibrations quiet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.files.markers.markers import read_markers
from rtsim.files.markers.trial import MarkerTrial
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.calibration.misplaced import USUAL, jacobian, lengths, pairs_of, roles_of
from rtsim.subjects.markers.labs import find_lab, load_lab, side_of
from tests.rtsim.subjects.conftest import LANDMARKS, OTHERS
from tests.rtsim.subjects.recordings import DATA, RECORDINGS

Array = NDArray[np.float64]

MIRROR = np.array([1.0, 1.0, -1.0])
KINKS = np.random.default_rng(7)
PUT_ON = {role: KINKS.normal(0.0, 0.004, 3) for role in LANDMARKS}
"""How far the left leg's markers are from where the mirror image of the right one's are [m]."""
recordings = pytest.mark.skipif(not DATA.is_dir(), reason="needs the recordings")
STATICS = sorted({recording.static for recording in RECORDINGS if recording.static})


def standing(without: str = "", tilted: float = 0.0, n_frame: int = 12, **shifted: Array) -> MarkerTrial:
    """A person with both legs, bmc markers; `without` : first letter of the labels of a leg to leave out

    tilted : degrees by which the pelvis' markers are turned, ASIS down
    shifted : marker with _ for . -> how far it is from where it should be [m]
    """
    points: dict[str, Array] = {}
    c, s = np.cos(np.radians(tilted)), np.sin(np.radians(tilted))
    for side, sign in (("left", MIRROR), ("right", np.ones(3))):
        roles = getattr(load_lab("bmc"), side).roles
        for role, x in LANDMARKS.items():
            place = np.array(x) + (PUT_ON[role] if side == "left" else 0.0)
            if role.startswith(("asis", "psis")):
                gap = np.array(x)[:2] - (0.03, 0.92)
                place = np.array([0.03 + c * gap[0] + s * gap[1], 0.92 - s * gap[0] + c * gap[1], x[2]])
            points[roles[role]] = sign * place
    points |= {"R.MT2": np.array(OTHERS["R.MT2"]), "L.MT2": MIRROR * OTHERS["R.MT2"]}
    for name, shift in shifted.items():
        points[name.replace("_", ".")] = points[name.replace("_", ".")] + shift
    names = tuple(name for name in points if not (without and name[0] == without and "SIS" not in name))
    positions = np.tile(np.array([points[name] for name in names]), (n_frame, 1, 1))
    return MarkerTrial(names, np.arange(n_frame) / 100.0, positions, 100.0, "person.trc")


def told(trial: MarkerTrial, static: MarkerTrial | None = None, side: str = "") -> list[str]:
    return [note for note in subject_for(trial, static, side=side).notes if "check" in note]


def test_markers_that_are_well_put_on_are_quiet() -> None:
    """Protects from warnings on errors of 4 mm, of both legs, of one, and beside a trial."""
    trial = standing()
    assert told(trial) == told(trial, trial) == told(trial, side="right") == []


@pytest.mark.parametrize("marker", ["R.Ankle.Medial", "R.Ankle", "R.Knee", "R.Knee.Medial", "R.Heel"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_marker_4_cm_off_is_named_with_what_speaks_against_it(marker: str, sign: float) -> None:
    """Protects the angles that hang on every landmark of knee, ankle and heel: name, distance, both legs."""
    shift = sign * (np.array([0.012, 0.04, 0.0]) if "Knee" in marker else np.array([0.04, 0.012, 0.0]))
    found = told(standing(**{marker.replace(".", "_"): shift}))
    said = next(note for note in found if "the position on the other leg differs by about" in note)
    assert said.startswith(f"check {marker}")
    assert "mm on the right and" in said


def test_the_leg_that_is_off_is_told_by_proportions() -> None:
    """Protects the side: a malleolus of the left leg is not blamed on the right one."""
    (said,) = told(standing(L_Ankle_Medial=np.array([0.03, 0.03, 0.0])))
    assert said.startswith("check L.Ankle.Medial:")
    assert "usual proportions" in said


def test_markers_2_cm_off_are_within_what_hands_do() -> None:
    """Protects the limit that docs/clinic.md states: no alarm where placement by hand explains it."""
    assert told(standing(R_Ankle_Medial=np.array([0.015, 0.0, 0.0]))) == []


def test_one_leg_alone_is_held_to_proportions() -> None:
    """Protects laboratories that mark one leg."""
    whole = standing(without="L")
    assert told(whole, side="right") == []
    odd = standing(without="L", R_Ankle_Medial=np.array([0.05, 0.04, 0.0]))
    assert any(note.startswith("check R.Ankle") for note in told(odd, side="right"))


@pytest.mark.parametrize("marker", ["R.Ankle", "L.ASIS", "L.Heel"])
def test_a_followed_marker_that_was_elsewhere_in_the_static_trial_is_told(marker: str) -> None:
    """Protects the shape of segments between static trial and trial, by less than placement shows."""
    shift = np.array([0.02, 0.02, 0.0])
    found = told(standing(n_frame=12), standing(**{marker.replace(".", "_"): shift}))
    assert any(f"check {marker}: relative to the other markers of the" in note for note in found)


def walking(tilted: float) -> MarkerTrial:
    """The person moving along, so that it is no standing trial."""
    trial = standing(tilted=tilted, n_frame=40)
    return trial._replace(positions=trial.positions + np.arange(40.0)[:, None, None] * [0.02, 0.0, 0.0])


@pytest.mark.parametrize("tilted", [30.0, -30.0])
def test_a_tilted_pelvis_is_told_where_a_trial_calibrates_itself(tilted: float) -> None:
    """Protects walks without a static trial: markers that tilt the pelvis by 30 degrees."""
    assert told(walking(0.0)) == []
    assert any("check the pelvis: its tilt" in note for note in told(walking(tilted)))


def test_who_bends_down_and_rises_has_no_tilted_pelvis() -> None:
    """Protects lifting trials: the pelvis is judged where it stands upright."""
    down, up = standing(tilted=50.0, n_frame=30).positions, walking(0.0).positions
    trial = walking(0.0)._replace(positions=np.concatenate([up[:20], down[:20] + up[20:] - up[:1]]))
    assert told(trial) == []


def test_slopes_of_distances() -> None:
    """Protects the derivatives against differences."""
    pairs = pairs_of(set(USUAL))
    roles = roles_of(pairs)
    slopes, step = jacobian(USUAL, pairs, roles), 1e-6
    for k, role in enumerate(roles):
        for i in range(3):
            ends = [
                lengths({**USUAL, role: USUAL[role] + sign * step * np.eye(3)[i]}, pairs) for sign in (1, -1)
            ]
            np.testing.assert_allclose(slopes[:, 3 * k + i], (ends[0] - ends[1]) / (2.0 * step), atol=1e-8)


@recordings
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: Path(r.trial).stem)
def test_recordings_are_quiet(recording) -> None:
    """Protects from false alarms: but for known faults, wide knees and labels of a forefoot exchanged."""
    static = read_markers(DATA / recording.static) if recording.static else None
    found = told(read_markers(DATA / recording.trial), static)
    known = {"overground_17.trc": 2, "walk2.trc": 1}
    assert len(found) == known.get(Path(recording.trial).name, 0), found


@recordings
@pytest.mark.parametrize("static", STATICS)
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_malleolus_4_cm_off_is_told_of_every_static_trial(static: str, side: str) -> None:
    """Protects static trials of five laboratories: forwards, up or backwards, two of three at least."""
    trial = read_markers(DATA / static)
    marker = side_of(find_lab(trial.names), side).roles["malleolus_medial"]
    named = 0
    for shift in ([0.04, 0.0, 0.0], [0.0, 0.04, 0.0], [-0.04, 0.0, 0.0]):
        positions = trial.positions.copy()
        positions[:, trial.names.index(marker)] += shift
        named += any(marker in note.partition(":")[0] for note in told(trial._replace(positions=positions)))
    assert named >= 2
