"""Pressure shifted from the feet by a constant: one plate, all plates, and who is left alone."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.files.recording import Results
from rtsim.methods.plates.kinetic_figures import in_sentences, kinetic_figures
from rtsim.methods.plates.plate_residual import judge_residual, smoothed
from rtsim.methods.plates.pressure_place import judge_places
from streams.messages import FieldSpec, Session, Status, new_session_id

Array = NDArray[np.float64]
Habits = tuple[tuple[float, float], tuple[float, float]]

RATE, MASS, N = 100.0, 70.0, 200
WEIGHT = 9.81 * MASS
PLATES = ("first", "second", "third")
REACH, STRIDE = 0.13, 0.7
"""From ankle to toes, and from step to step [m]."""
DOWN = ((20, 80), (70, 130), (120, 180))
"""Frames in which a foot is on each plate: left, right, left."""
USUAL = (0.0, 0.0)


def walk(shift: Array, habits: Habits = (USUAL, USUAL), absent: float = 0.0, back: bool = False) -> Results:
    """One who walks along X over three plates whose pressure is told off by shift (3, 2) [m] along X and Z.

    habits : outwards and ahead [m], of the right and the left foot, beside what is usual
    absent : part of the mass that is not modelled, by which the moment at the root is off
    back : whether the person turns and walks back over the plates
    """
    spec, n = ButterworthSpec(), N * (1 + back)
    times = np.arange(n) / RATE
    force, centre = np.zeros((n, 3, 3)), np.full((n, 3, 3), np.nan)
    share, joints = np.zeros((n, 3, 2)), np.zeros((n, 4, 3))
    for k, (p, (first, last)) in [(k, step) for k in range(1 + back) for step in enumerate(DOWN)]:
        foot, ahead = 1 - p % 2, 1.0 - 2.0 * k
        outer = ahead if foot == 0 else -ahead
        rows = np.arange(first, last) + k * N
        part = (np.arange(first, last) - first) / (last - 1 - first)
        load = np.minimum(1.0, np.minimum(rows - rows[0] + 1, rows[-1] + 1 - rows) / 11.0)
        force[rows, p] = WEIGHT * np.stack([0.2 * ahead * (part - 0.5), load, 0.0 * part], axis=1)
        ankle = np.array([STRIDE * p, 0.08, 0.1 * outer])
        joints[rows, 2 * foot], joints[rows, 2 * foot + 1] = (
            ankle,
            ankle + np.array([ahead * REACH, -0.05, 0.0]),
        )
        centre[rows, p] = ankle * [1.0, 0.0, 1.0]
        way = -0.015 + REACH * part + 0.002 * np.cos(7.0 * part) + habits[foot][1]
        centre[rows, p, 0] += ahead * way
        centre[rows, p, 2] += outer * habits[foot][0]
        centre[rows, p] += [shift[p, 0], 0.0, shift[p, 1]]
        share[rows, p, foot] = 1.0
    borne = np.stack([smoothed(spec, RATE, times, force[:, p])[0] for p in range(3)]) / WEIGHT
    moved = np.stack([shift[:, 0], np.zeros(3), shift[:, 1]], axis=1)
    left = np.random.default_rng(5).normal(0.0, 0.004, (n, 3))
    left[:, 2] += 0.05 * bool(absent)
    left -= np.cross(moved[:, None], borne).sum(axis=0)
    knees = ("knee_flexion_r", "knee_flexion_l")
    named = {
        "plate_status": (np.zeros((n, 3)), PLATES),
        "plate_forces": (force, PLATES),
        "plate_centres": (centre, PLATES),
        "plate_shares": (share, PLATES),
        "foot_loads": (np.einsum("nps,np->ns", share, force[..., 1]), ("right", "left")),
        "segment_status": (np.zeros((n, 2)), ("foot_r", "foot_l")),
        "joint_centres": (joints, ("ankle_r", "toe_r", "ankle_l", "toe_l")),
        "joint_moments": (np.zeros((n, 2)), knees),
        "joint_angles": (np.zeros((n, 2)), knees),
        "segment_positions": (np.zeros((n, 1, 3)), ("pelvis",)),
        "residual_force": (np.zeros((n, 3)), ("x", "y", "z")),
        "residual_moment": (left, ("x", "y", "z")),
    }
    told = {k: v for k, v in msgspec.to_builtins(spec).items() if v is not None}
    meta = {
        "mass_kg": MASS,
        "model_mass_kg": (1.0 - absent) * MASS,
        "stature_m": 1.7,
        "rates": told | {"delay_s": [0.06] * 3},
    }
    fields = {name: x for name, (x, _) in named.items()}
    specs = tuple(FieldSpec(name, x.shape[1:], "1", labels) for name, (x, labels) in named.items())
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=specs, meta=meta
    )
    return Results(session, fields, times, np.zeros(n, np.int64))


def of(plate: int | None, x: float, z: float) -> Array:
    """(3, 2) - a displacement of one plate, or of all where None [m]."""
    shift = np.zeros((3, 2))
    shift[slice(None) if plate is None else plate] = x, z
    return shift


def judged(results: Results) -> dict[str, object]:
    """What is told of a walk."""
    found = judge_places(results, MASS, judge_residual(results, MASS))
    assert found is not None
    return found


@pytest.mark.parametrize("plate", [0, 1, 2])
@pytest.mark.parametrize(("x", "z"), [(0.06, 0.0), (-0.06, 0.0), (0.0, 0.06), (0.0, -0.06), (0.04, -0.04)])
def test_a_plate_that_is_off_is_named_with_its_displacement(plate: int, x: float, z: float) -> None:
    """Protects from joint moments that are wrong in silence: 60 mm of one plate, either way."""
    found = judged(walk(of(plate, x, z)))
    assert found["plate"] == PLATES[plate]
    np.testing.assert_allclose(found["shift_m"], [x, z], atol=0.01)


@pytest.mark.parametrize(("x", "z"), [(0.0, 0.03), (0.0, -0.03), (0.03, 0.0)])
def test_all_plates_off_are_told_of_who_walks_there_and_back(x: float, z: float) -> None:
    """Protects from plates and markers of two origins, which no moment tells from the trunk."""
    found = judged(walk(of(None, x, z), back=True))
    assert found["plate"] == "all plates"
    np.testing.assert_allclose(found["shift_m"], [x, z], atol=0.01)
    assert judged(walk(of(None, x, z)))["plate"] == ""  # one way, feet may roll like that


@pytest.mark.parametrize("habit", [USUAL, (0.012, 0.0), (-0.015, -0.02), (0.0, 0.015)])
@pytest.mark.parametrize("absent", [0.0, 0.47])
def test_habits_of_feet_and_trunk_are_no_displacement(habit: tuple[float, float], absent: float) -> None:
    """Protects from false alarms: how a person rolls over both feet, and a trunk that is not modelled."""
    assert judged(walk(of(0, 0.005, -0.005), (habit, habit), absent))["plate"] == ""


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize(
    "habits",
    [
        ((0.025, 0.0), (-0.025, 0.0)),
        ((-0.03, 0.0), (0.03, 0.0)),
        ((0.04, 0.0), USUAL),
        (USUAL, (0.04, 0.0)),
        ((0.0, 0.042), USUAL),
        (USUAL, (0.0, -0.052)),
        ((0.0, -0.052), USUAL),
        ((0.04, 0.0), (0.04, 0.0)),
    ],
)
def test_feet_that_roll_unlike_are_no_displacement(habits: Habits, moments: bool, back: bool) -> None:
    """Protects from false alarms: windswept feet, varus, one foot on its forefoot or its heel."""
    results = walk(np.zeros((3, 2)), habits, back=back)
    found = judge_places(results, MASS, judge_residual(results, MASS) if moments else None)
    assert found is not None
    assert found["plate"] == ""


def test_who_runs_is_not_asked() -> None:
    """Protects runners, who strike with any part of the foot: the same steps are told of one who walks."""
    results = walk(of(1, 0.0, 0.06))
    loads = results.fields["foot_loads"]
    walked = kinetic_figures(results)
    assert walked is not None
    assert walked["pressure"]["plate"] == "second"
    both = loads.min(axis=1) > 0.0
    loads[both] *= loads[both] == loads[both].max(axis=1, keepdims=True)
    loads *= 2.0
    ran = kinetic_figures(results)
    assert ran is not None
    assert ran["pressure"] is None


def test_the_closing_lines_name_plate_and_size() -> None:
    """Protects what a user reads, once, and nothing where all is well."""
    figures = kinetic_figures(walk(of(1, 0.0, 0.06)))
    assert figures is not None
    (said,) = [line for line in in_sentences(figures) if line.startswith("warning, plates")]
    assert "of second is shifted by 60 mm from the place that the markers of the feet show" in said
    assert "the foot on it rolls over unusually, or its ankle and toe markers are in wrong places" in said
    quiet = kinetic_figures(walk(np.zeros((3, 2))))
    assert quiet is not None
    assert not any(line.startswith("warning, plates") for line in in_sentences(quiet))


def test_feet_at_fault_and_cut_steps_are_no_witness() -> None:
    """Protects from a foot marker that is off, and from a step that the recording cuts."""
    results = walk(of(1, 0.0, 0.06))
    results.fields["segment_status"][:, 0] = int(Status.SUSPECT)
    shift = judge_places(results, MASS, None)
    assert shift is not None
    assert shift["plate"] == ""
    cut = Results(
        results.session,
        {k: x[40:110] for k, x in results.fields.items()},
        results.times[40:110],
        results.status[40:110],
    )
    assert judge_places(cut, MASS, None) is None


def test_moments_are_not_asked_where_the_forces_are_wrong() -> None:
    """Protects from a second sentence that follows from the first: wrong forces turn the body, too."""
    results = walk(np.zeros((3, 2)))
    results.fields["residual_moment"][:, 2] += 0.08 * np.nan_to_num(
        results.fields["plate_forces"][:, 1, 1] / WEIGHT
    )
    mistaken = {"mistake": "shear_sign", "sentence": "", "rms": 0.3}
    found = judge_places(results, MASS, mistaken)
    assert found is not None
    assert found["plate"] == ""
