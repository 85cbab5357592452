"""The moment of the joint that a worn device's controller sees, from the results of a run."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from rtsim.live.hardware.wearable_run import JointMoment
from rtsim.quantity import Fields, Quantity


def loop_of(**labels: tuple[str, ...]) -> Any:
    """Return what stands for a loop whose results have these fields of moments, numbered from 1."""
    made = [Quantity(name, np.arange(1.0, len(names) + 1.0), "N m", names) for name, names in labels.items()]
    return SimpleNamespace(course=SimpleNamespace(fields=Fields(made, 100.0, 0, {})))


def test_a_model_with_its_own_markers_has_the_moments_of_its_coordinates() -> None:
    """Protects controllers by moment on such models: theirs are called coordinate_moments."""
    said: list[str] = []
    loop = loop_of(coordinate_moments=("hip", "elbow"))
    moment = JointMoment(loop, "elbow", said.append)
    assert moment() == 2.0
    loop.course.fields.arrays["coordinate_moments"][1] = -7.0
    assert moment() == -7.0
    assert said == []


def test_the_moment_of_the_joint_angle_comes_first() -> None:
    """Protects persons: the moment about the axis of the angle, where both have that name."""
    loop = loop_of(coordinate_moments=("ankle",), joint_moments=("knee", "ankle"))
    assert JointMoment(loop, "ankle", print)() == 2.0


def test_a_moment_that_is_not_computed_is_told_once_in_each_session() -> None:
    """Protects the author of a controller: it does not wait silently for a moment that never comes."""
    said: list[str] = []
    loop = loop_of(joint_moments=("knee",))
    moment = JointMoment(loop, "ankle", said.append)
    assert math.isnan(moment())
    assert math.isnan(moment())
    (sentence,) = said
    assert "moments, but none of ankle" in sentence
    loop.course = loop_of(joint_moments=("knee", "ankle")).course
    assert moment() == 2.0
    assert len(said) == 1


def test_a_run_without_moments_says_nothing() -> None:
    """Protects springs, which look at no moment, from a sentence about it."""
    said: list[str] = []
    loop = loop_of(joint_angles=("ankle",))
    assert math.isnan(JointMoment(loop, "ankle", said.append)())
    loop.course = None
    assert math.isnan(JointMoment(loop, "ankle", said.append)())
    assert said == []
