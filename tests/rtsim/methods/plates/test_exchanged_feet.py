"""Forces of the other foot: who bears and swings at once, and who walks as people do."""

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
    assert "each foot has the force of the other one" in judge_feet(walk(True, belt, direction), MASS)


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
