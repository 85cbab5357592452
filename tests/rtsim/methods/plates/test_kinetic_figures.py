"""Figures of a run with force plates, on made-up results whose figures are known."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kernels.plates.plate_assignment import FAR, OFF_PLATE, TWO_FEET
from rtsim.files.recording import Results
from rtsim.methods.plates.kinetic_figures import feet_are_still, in_sentences, kinetic_figures
from streams.messages import FieldSpec, Session, new_session_id

N, MASS = 200, 60.0
WEIGHT = MASS * 9.81
ANGLES = ("knee_flexion_r", "ankle_dorsiflexion_r", "knee_flexion_l", "ankle_dorsiflexion_l")
FEET = ("right", "left")
LABELS = {"foot_forces": FEET, "joint_angles": ANGLES, "joint_moments": ANGLES}


def made(**changed: Any) -> Results:
    """One who stands upright on two plates for two seconds, one foot on each, in a model of half the mass."""
    fields = {
        "plate_status": np.zeros((N, 2)),
        "plate_shares": np.tile([[1.0, 0.0], [0.0, 1.0]], (N, 1, 1)),
        "plate_centres": np.zeros((N, 2, 3)),
        "plate_forces": np.tile([0.0, 0.5 * WEIGHT, 0.0], (N, 2, 1)),
        "foot_forces": np.tile([0.0, 0.5 * WEIGHT, 0.0], (N, 2, 1)),
        "foot_loads": np.full((N, 2), 0.5 * WEIGHT),
        "joint_angles": np.zeros((N, 4)),
        "joint_moments": np.zeros((N, 4)),
        "segment_positions": np.zeros((N, 1, 3)),
        "residual_force": np.tile([0.0, -0.5, 0.0], (N, 1)),
        "residual_moment": np.tile([0.0, 0.0, -0.04], (N, 1)),
    }
    meta = {"mass_kg": MASS, "model_mass_kg": 0.5 * MASS, "stature_m": 1.7}
    meta |= changed.pop("meta", {})
    named = changed.pop("labels", {})
    fields |= changed
    kept = {k: x for k, x in fields.items() if x is not None}
    n_plate = kept["plate_status"].shape[1] if "plate_status" in kept else 0
    labels = {**LABELS, **named, "plate_shares": tuple(f"plate {p + 1}" for p in range(n_plate))}
    specs = tuple(
        FieldSpec(k, x.shape[1:], "1", labels.get(k, ()), FEET if k == "plate_shares" else ())
        for k, x in kept.items()
    )
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=100.0, fields=specs, meta=meta
    )
    return Results(session, kept, 0.01 * np.arange(N), np.zeros(N, np.int64))


def figures_of(**changed: Any) -> dict[str, Any]:
    found = kinetic_figures(made(**changed))
    assert found is not None
    return found


def test_one_who_stands_weighs_what_the_mass_says():
    """Protects the plain case: all under the feet, no warning, no band of gait, the rest of the body."""
    found = figures_of()
    assert (found["loaded"], found["under"], found["flagged"]) == (2 * N, 1.0, {})
    assert found["feet"] == {side: {"loaded": N, "under": 1.0} for side in ("right", "left")}
    assert found["weight"]["newtons"] == pytest.approx(WEIGHT)
    assert not found["weight"]["warning"]
    assert not found["walks"]
    assert all("within" not in peak for peak in found["peaks"].values())
    assert found["residual"]["not_in_model"] == pytest.approx(0.5)
    assert found["residual"]["unexplained_up"] == pytest.approx(0.0)
    assert found["residual"]["most_moment_m"] == pytest.approx(0.04)


def test_three_plates_have_two_feet():
    """Protects from plates that are taken for feet: the third plate, which nobody is on, is in no share."""
    share = np.zeros((N, 3, 2))
    share[:, 0, 0] = share[:, 1, 1] = 1.0
    centres = np.zeros((N, 3, 3))
    centres[:, 2] = np.nan
    found = figures_of(
        plate_status=np.zeros((N, 3)),
        plate_shares=share,
        plate_centres=centres,
        plate_forces=np.tile([0.0, WEIGHT / 3.0, 0.0], (N, 3, 1)),
    )
    assert found["feet"] == {side: {"loaded": N, "under": 1.0} for side in FEET}


def test_plates_that_are_stated_have_no_shares():
    """Protects runs that state who bears the plates: no feet are told of."""
    found = figures_of(plate_shares=None)
    assert (found["under"], found["feet"]) == (None, {})


@pytest.mark.parametrize(("more", "warned"), [(1.04, False), (1.06, True), (0.94, True)])
def test_a_weight_that_differs_by_more_than_5_percent_is_a_warning_by_name(more, warned):
    """Protects the standing check: too light and too heavy alike."""
    found = figures_of(plate_forces=np.tile([0.0, more * 0.5 * WEIGHT, 0.0], (N, 2, 1)))
    assert found["weight"]["off"] == pytest.approx(more - 1.0)
    assert found["weight"]["warning"] == warned
    assert any("warning, weight" in said for said in in_sentences(found)) == warned


def test_who_moves_or_sits_has_no_standing_weight():
    """Protects from the weight of one who sits, whose chair bears the rest, or walks."""
    bent = np.zeros((N, 4))
    bent[:, 0] = np.radians(80.0)
    assert figures_of(joint_angles=bent)["weight"] is None
    moving = np.zeros((N, 1, 3))
    moving[:, 0, 0] = 0.01 * np.arange(N)
    assert figures_of(segment_positions=moving)["weight"] is None


def test_who_walks_on_a_belt_does_not_stand():
    """Protects from the weight of a walk on a treadmill, whose pelvis is slow: the feet go with the belt; and
    where the loads of the feet are not known, too."""
    places = np.zeros((N, 3, 3))
    phase = 2.0 * np.pi * np.arange(N) / 110.0
    places[:, 1, 0], places[:, 2, 0] = 0.3 * np.sin(phase), -0.3 * np.sin(phase)
    bodies = {"labels": {"segment_positions": ("pelvis", "foot_r", "foot_l")}}
    unknown = np.full((N, 2), np.nan)
    assert figures_of(segment_positions=places, foot_loads=unknown, **bodies)["weight"] is None
    places[:, 1:] = 0.0
    assert figures_of(segment_positions=places, foot_loads=unknown, **bodies)["weight"]["frames"] == N
    places[100:, 1, 0] = 0.2  # a step: whoever stands keeps both feet for half a second
    assert figures_of(segment_positions=places, **bodies)["weight"]["frames"] == N - 50


def test_of_one_leg_alone_no_weight_is_left_unexplained():
    """Protects from a share of the weight that the other foot bears, which is not in the model."""
    found = figures_of(meta={"side": "right"})
    assert found["residual"]["unexplained_up"] is None
    said = " ".join(in_sentences(found))
    assert "remains unexplained" not in said
    assert "the load of the other foot is not known" in said
    assert "remains unexplained" in " ".join(in_sentences(figures_of(meta={"side": "both"})))


def test_peaks_of_who_walks_are_held_against_the_published_ones():
    """Protects signs and bands: extensors and plantarflexors work against the angle; children have theirs."""
    loads = np.full((N, 2), WEIGHT)
    loads[::2, 0], loads[1::2, 1] = 0.0, 0.0
    moments = np.zeros((N, 4))
    moments[50] = MASS * np.array([-0.6, -1.1, 0.9, 1.5])  # those of the left leg have the wrong sign
    moments[60] = np.nan
    found = figures_of(foot_loads=loads, joint_moments=moments)
    peaks = found["peaks"]
    assert found["walks"]
    assert found["weight"] is None
    assert peaks["knee extensors_r"]["value"] == pytest.approx(0.6)
    assert [peak["within"] for peak in peaks.values()] == [True, False, False, False]
    assert sum("outside the published range" in said for said in in_sentences(found)) == 3
    small = figures_of(foot_loads=loads, joint_moments=moments, meta={"stature_m": 1.4})
    assert small["peaks"]["ankle plantarflexors_r"]["within"]


def test_readings_that_are_not_under_a_foot_are_counted():
    """Protects the share: two feet are in none, pressure far off or beside the plate is under no foot."""
    status, shares = np.zeros((N, 2)), made().fields["plate_shares"]
    status[:10, 0], shares[:10, 0] = TWO_FEET, 2.0
    status[10:20, 0], shares[10:20, 0] = FAR, [2.0, 0.0]
    status[20:30, 1] = OFF_PLATE
    centres = np.zeros((N, 2, 3))
    centres[100:, 1] = np.nan
    found = figures_of(plate_status=status, plate_shares=shares, plate_centres=centres)
    assert found["flagged"] == {"two_feet": 10, "plate_far": 10, "off_plate": 10}
    assert found["loaded"] == 300
    assert found["under"] == pytest.approx(270 / 290)
    assert found["feet"]["right"] == {"loaded": 190, "under": pytest.approx(180 / 190)}
    assert found["feet"]["left"] == {"loaded": 100, "under": pytest.approx(0.9)}
    assert any("less than the expected 98.0 %" in said for said in in_sentences(found))


def test_without_plates_there_are_no_figures_and_without_mass_no_moments():
    """Protects runs without forces, and those whose person is not known."""
    assert kinetic_figures(made(plate_status=None)) is None
    found = figures_of(joint_moments=None)
    assert "peaks" not in found
    assert in_sentences(found)


def test_feet_stand_still_for_as_long_in_a_recording_that_was_played_faster():
    """Protects the weight: the half second without motion is of the trial, not of the stream."""
    places = np.zeros((N, 1, 3))
    places[N // 2 :, 0, 0] = 1.0
    results = made(segment_positions=places)
    session = results.session
    meta = {**session.meta, "speed": 4.0}
    faster = results._replace(session=msgspec.structs.replace(session, rate=4.0 * session.rate, meta=meta))
    still = feet_are_still(results)
    assert 0 < still.sum() < N
    np.testing.assert_array_equal(feet_are_still(faster), still)
