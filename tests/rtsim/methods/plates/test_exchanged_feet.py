"""Forces of the other foot: who bears and swings at once, who walks as people do, and who stands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.files.recording import Results
from rtsim.methods.plates.exchanged_feet import judge_feet
from streams.messages import FieldSpec, Session, new_session_id

Array = NDArray[np.float64]

RATE, MASS, N = 100.0, 70.0, 240
TIMES = np.arange(N) / RATE
STRIDE_S, SPEED = 1.2, 1.3


def walk(exchanged: bool = False, belt: bool = False, direction: float = 1.0, climbs: float = 0.0) -> Results:
    """One who walks along X, each foot on a plate of its own.

    exchanged : whether each foot is given the force of the other; belt : the floor moves, the person stays
    direction : -1 = backwards; climbs : how much higher each foot stands than the other before [m]
    """
    ankles, load = np.zeros((N, 2, 3)), np.zeros((N, 2))
    for foot in range(2):
        phase = TIMES / STRIDE_S + 0.5 * foot
        part = phase % 1.0
        swings = part > 0.6
        swung = np.where(swings, (part - 0.6) / 0.4, 0.0)
        place = np.floor(phase) + swung**2 * (3.0 - 2.0 * swung)
        ankles[:, foot, 0] = direction * STRIDE_S * SPEED * place
        ankles[:, foot, 1] = 0.08 + 0.1 * np.sin(np.pi * swung) + climbs * (2.0 * place + foot)
        load[:, foot] = np.where(swings, 0.0, 1.0)
    load /= load.sum(axis=1, keepdims=True)
    if belt:
        ankles[..., 0] -= direction * SPEED * TIMES[:, None]
    force = np.zeros((N, 2, 3))
    force[..., 1] = 9.81 * MASS * (load[:, ::-1] if exchanged else load)
    named = {
        "plate_forces": (force, ("first", "second")),
        "plate_shares": (np.tile(np.eye(2), (N, 1, 1)), ("first", "second")),
        "joint_centres": (ankles, ("ankle_r", "ankle_l")),
    }
    specs = tuple(FieldSpec(name, x.shape[1:], "1", labels) for name, (x, labels) in named.items())
    session = Session(session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=specs)
    return Results(session, {name: x for name, (x, _) in named.items()}, TIMES, np.zeros(N, np.int64))


@pytest.mark.parametrize("belt", [False, True])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_forces_of_the_other_feet_are_told(belt: bool, direction: float) -> None:
    """Protects from joint moments of a leg that swings under the force of the one that stands."""
    assert "the forces of the two feet seem exchanged" in judge_feet(walk(True, belt, direction), MASS)


@pytest.mark.parametrize("belt", [False, True])
@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("climbs", [0.0, 0.17, -0.17])
def test_who_walks_is_left_alone(belt: bool, direction: float, climbs: float) -> None:
    """Protects from false alarms: over ground and on a belt, forwards and backwards, up and down stairs."""
    assert judge_feet(walk(False, belt, direction, climbs), MASS) == ""


def test_nothing_is_said_of_few_frames_and_of_one_leg() -> None:
    """Protects from words on what is not known."""
    results = walk(True)
    short = Results(
        results.session, {k: x[:15] for k, x in results.fields.items()}, TIMES[:15], results.status[:15]
    )
    assert judge_feet(short, MASS) == ""
    both = results.fields["plate_forces"]
    both[:] = 0.5 * 9.81 * MASS
    assert judge_feet(results, MASS) == ""


def stands(seed: int, higher: float, rate: float) -> Results:
    """Stands for 1.2 s on the right foot, then on the left, whose ankle is higher by so much [m]; the other
    foot rests with 3 % of the weight."""
    n = round(2.4 * rate)
    bearing = np.arange(n) // (n // 2)
    ankles = np.tile([[0.0, 0.08, 0.1], [0.0, 0.08, -0.1]], (n, 1, 1))
    ankles[np.arange(n), bearing, 1] += higher
    ankles += np.random.default_rng(seed).normal(0.0, 0.0003, ankles.shape)
    force = np.zeros((n, 2, 3))
    force[..., 1] = 9.81 * MASS * np.where(np.arange(2) == bearing[:, None], 0.97, 0.03)
    fields = {
        "plate_forces": force,
        "plate_shares": np.tile(np.eye(2), (n, 1, 1)),
        "joint_centres": ankles,
    }
    return walk()._replace(fields=fields, times=np.arange(n) / rate, status=np.zeros(n, np.int64))


@pytest.mark.parametrize("rate", [100.0, 1000.0])
@pytest.mark.parametrize("higher", [0.005, 0.02, 0.15])
def test_who_stands_on_one_leg_is_left_alone(higher: float, rate: float) -> None:
    """Protects who stands with a shoe lift or on a step: which of two still ankles is faster is chance."""
    assert [judge_feet(stands(seed, higher, rate), MASS) for seed in range(10)] == [""] * 10


def pushed_off(feet: tuple[int, ...], seconds: float) -> Results:
    """Push-offs alone: a foot bears whose heel rises and moves, the other stands on no plate; one foot after
    the other."""
    results = walk()
    ankles, force = results.fields["joint_centres"], results.fields["plate_forces"]
    ankles[:] = np.array([[0.0, 0.08, 0.1], [0.3, 0.08, -0.1]])
    force[:] = 0.0
    n = round(seconds * RATE)
    for k, foot in enumerate(feet):
        rows = 40 + 100 * k + np.arange(n)
        ankles[rows[0] :, foot, :2] += np.minimum(np.arange(N - rows[0]), n)[:, None] / RATE * [0.8, 0.5]
        ankles[rows[-1] + 1 :, foot, 1] = 0.08  # stands again
        force[rows, foot, 1] = 0.7 * 9.81 * MASS
    return results


@pytest.mark.parametrize(("feet", "seconds"), [((0,), 0.4), ((0, 1), 0.15)])
def test_push_offs_beside_a_foot_off_the_plates_are_left_alone(feet: tuple[int, ...], seconds: float) -> None:
    """Protects cut recordings and plates for one foot: a foot that pushes off is higher and faster."""
    assert judge_feet(pushed_off(feet, seconds), MASS) == ""
