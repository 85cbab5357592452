"""Pelvis and feet to the direction of walking: signs, the axis of the laboratory, what is unknown."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rtsim.stages.kinematics import Kinematics
from rtsim.stages.progression import Progression


def stage_of(*sides: str, mirrors: bool = False) -> Progression:
    """Of a pelvis and feet that stand straight."""
    found, names = Kinematics.__new__(Kinematics), ["pelvis", *(f"foot_{side[0]}" for side in sides)]
    model = SimpleNamespace(
        names=SimpleNamespace(bodies=[*names, "trunk"]),
        joints=SimpleNamespace(proximal=np.array([0, 0]), distal=np.array([1, len(names)])),
    )
    rotation = np.repeat(np.eye(3)[None], len(names), axis=0)
    found.estimator = SimpleNamespace(model=model, pose=(np.zeros((len(names), 3)), rotation))
    found.solved, found.unknown = True, np.zeros(6, bool)
    found.reference_length = SimpleNamespace(mirrors=mirrors)
    stage = Progression(found, [(k + 1, side) for k, side in enumerate(sides)])
    stage.begin(None, anew=True)
    return stage


def told(stage: Progression, time: float = 0.0) -> dict[str, float]:
    """Label -> angle [deg] of a frame."""
    stage.run(SimpleNamespace(time=time))
    return {
        label: math.degrees(value)
        for quantity in stage.quantities()
        for label, value in zip(quantity.labels, quantity.array.tolist(), strict=True)
    }


def place(stage: Progression, body: int, sequence: str, *degrees: float, heading: float = 0.0) -> None:
    """Turn a body about its axes, after the whole person was turned about the vertical."""
    whole = Rotation.from_euler("Y", heading, degrees=True)
    own = Rotation.from_euler(sequence, degrees, degrees=True)
    stage.kinematics.estimator.pose[1][body] = (whole * own).as_matrix()


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0, -90.0])
def test_pelvis_in_the_sequence_of_the_isb(heading: float) -> None:
    """Protects signs and sequence, along every axis of the laboratory: X forwards, Y up, Z to the right."""
    stage = stage_of("right")
    place(stage, 0, "ZXY", -12.0, -5.0, 20.0, heading=heading)
    found = told(stage)
    assert (
        found["pelvis_anterior_tilt"],
        found["pelvis_obliquity"],
        found["pelvis_rotation"],
    ) == pytest.approx((12.0, 5.0, 20.0))


def test_feet_turn_inwards_on_both_sides() -> None:
    """Protects the sign: toes inwards are positive on either side."""
    stage = stage_of("right", "left")
    place(stage, 1, "Y", 10.0)
    place(stage, 2, "Y", -15.0)
    found = told(stage)
    assert (found["foot_progression_r"], found["foot_progression_l"]) == pytest.approx((10.0, 15.0))


def test_a_left_leg_alone_is_turned_back_across_the_body() -> None:
    """Protects a leg that is solved in the mirror."""
    stage = stage_of("left", mirrors=True)
    place(stage, 0, "ZXY", -12.0, -5.0, 20.0)
    place(stage, 1, "Y", 15.0)
    found = told(stage)
    assert found["pelvis_anterior_tilt"] == pytest.approx(12.0)
    assert (found["pelvis_obliquity"], found["pelvis_rotation"]) == pytest.approx((-5.0, -20.0))
    assert found["foot_progression_l"] == pytest.approx(15.0)


@pytest.mark.parametrize("lost", ["pose", "pelvis"])
def test_without_a_pelvis_nothing_is_told(lost: str) -> None:
    """Protects against angles of a pelvis that no marker determines, or of a frame that was not solved."""
    stage = stage_of("right")
    told(stage)
    if lost == "pose":
        stage.kinematics.solved = False
    else:
        stage.kinematics.unknown[1] = True
    assert all(math.isnan(value) for value in told(stage, 0.01).values())


def test_a_trunk_that_is_not_known_says_nothing_of_the_pelvis() -> None:
    """Protects persons whose trunk is hidden, or not marked: pelvis and feet have their own markers."""
    stage = stage_of("right")
    place(stage, 0, "ZXY", -12.0, -5.0, 20.0)
    stage.kinematics.unknown[3:] = True
    assert told(stage)["pelvis_anterior_tilt"] == pytest.approx(12.0)
