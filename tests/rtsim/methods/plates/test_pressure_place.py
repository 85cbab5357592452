"""Pressure beside the feet by a constant: one plate, all plates, and who is left alone."""

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

RATE, MASS, N = 100.0, 70.0, 200
WEIGHT = 9.81 * MASS
TIMES = np.arange(N) / RATE
PLATES = ("first", "second", "third")
REACH, STRIDE = 0.13, 0.7
"""From ankle to toes, and from step to step [m]."""
DOWN = ((20, 80), (70, 130), (120, 180))
"""Frames in which a foot is on each plate: left, right, left."""


def walk(shift: Array, habit: tuple[float, float] = (0.0, 0.0), absent: float = 0.0) -> Results:
    """One who walks along X over three plates whose pressure is told off by shift (3, 2) [m] along X and Z.

    habit : outwards and ahead [m], of this person's feet beside what is usual
    absent : part of the mass that is not modelled, by which the moment at the root is off
    """
    spec = ButterworthSpec()
    force, centre = np.zeros((N, 3, 3)), np.full((N, 3, 3), np.nan)
    share, joints = np.zeros((N, 3, 2)), np.zeros((N, 4, 3))
    for p, (first, last) in enumerate(DOWN):
        foot = 1 - p % 2
        outer = 1.0 if foot == 0 else -1.0
        rows = np.arange(first, last)
        part = (rows - first) / (last - 1 - first)
        load = np.minimum(1.0, np.minimum(rows - first + 1, last - rows) / 11.0)
        force[rows, p] = WEIGHT * np.stack([0.2 * (part - 0.5), load, 0.0 * part], axis=1)
        ankle = np.array([STRIDE * p, 0.08, 0.1 * outer])
        joints[rows, 2 * foot], joints[rows, 2 * foot + 1] = ankle, ankle + np.array([REACH, -0.05, 0.0])
        centre[rows, p] = ankle * [1.0, 0.0, 1.0]
        centre[rows, p, 0] += -0.015 + REACH * part + 0.002 * np.cos(7.0 * part) + habit[1]
        centre[rows, p, 2] += outer * habit[0]
        centre[rows, p] += [shift[p, 0], 0.0, shift[p, 1]]
        share[rows, p, foot] = 1.0
    borne = np.stack([smoothed(spec, RATE, TIMES, force[:, p])[0] for p in range(3)]) / WEIGHT
    moved = np.stack([shift[:, 0], np.zeros(3), shift[:, 1]], axis=1)
    left = np.random.default_rng(5).normal(0.0, 0.004, (N, 3))
    left[:, 2] += 0.05 * bool(absent)
    left -= np.cross(moved[:, None], borne).sum(axis=0)
    knees = ("knee_flexion_r", "knee_flexion_l")
    named = {
        "plate_status": (np.zeros((N, 3)), PLATES),
        "plate_forces": (force, PLATES),
        "plate_centres": (centre, PLATES),
        "plate_shares": (share, PLATES),
        "foot_loads": (np.einsum("nps,np->ns", share, force[..., 1]), ("right", "left")),
        "segment_status": (np.zeros((N, 2)), ("foot_r", "foot_l")),
        "joint_centres": (joints, ("ankle_r", "toe_r", "ankle_l", "toe_l")),
        "joint_moments": (np.zeros((N, 2)), knees),
        "joint_angles": (np.zeros((N, 2)), knees),
        "segment_positions": (np.zeros((N, 1, 3)), ("pelvis",)),
        "residual_force": (np.zeros((N, 3)), ("x", "y", "z")),
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
    return Results(session, fields, TIMES, np.zeros(N, np.int64))


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
@pytest.mark.parametrize(("x", "z"), [(0.04, 0.0), (-0.04, 0.0), (0.0, 0.04), (0.0, -0.04), (0.03, -0.03)])
def test_a_plate_that_is_off_is_named_with_its_displacement(plate: int, x: float, z: float) -> None:
    """Protects from joint moments that are wrong in silence: 40 mm of one plate, either way."""
    found = judged(walk(of(plate, x, z)))
    assert found["plate"] == PLATES[plate]
    np.testing.assert_allclose(found["shift_m"], [x, z], atol=0.01)


@pytest.mark.parametrize("z", [0.03, -0.03])
def test_all_plates_off_across_the_walk_are_told(z: float) -> None:
    """Protects from plates and markers of two origins, which no moment tells from the trunk."""
    found = judged(walk(of(None, 0.0, z)))
    assert found["plate"] == "all plates"
    np.testing.assert_allclose(found["shift_m"], [0.0, z], atol=0.01)


@pytest.mark.parametrize("habit", [(0.0, 0.0), (0.012, 0.0), (-0.015, -0.02), (0.0, 0.015)])
@pytest.mark.parametrize("absent", [0.0, 0.47])
def test_habits_of_feet_and_trunk_are_no_displacement(habit: tuple[float, float], absent: float) -> None:
    """Protects from false alarms: how a person rolls over both feet, and a trunk that is not modelled."""
    assert judged(walk(of(0, 0.005, -0.005), habit, absent))["plate"] == ""


def test_the_closing_lines_name_plate_and_size() -> None:
    """Protects what a user reads, once, and nothing where all is well."""
    figures = kinetic_figures(walk(of(1, 0.0, 0.04)))
    assert figures is not None
    (said,) = [line for line in in_sentences(figures) if line.startswith("warning, plates")]
    assert "of second lies some 4" in said
    quiet = kinetic_figures(walk(np.zeros((3, 2))))
    assert quiet is not None
    assert not any(line.startswith("warning, plates") for line in in_sentences(quiet))


def test_feet_at_fault_and_cut_steps_are_no_witness() -> None:
    """Protects from a foot marker that is off, and from a step that the recording cuts."""
    results = walk(of(1, 0.0, 0.04))
    results.fields["segment_status"][:, 0] = int(Status.SUSPECT)
    shift = judge_places(results, MASS, None)
    assert shift is not None
    assert shift["plate"] == ""
    cut = Results(
        results.session,
        {k: x[40:110] for k, x in results.fields.items()},
        TIMES[40:110],
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
