"""The stage with which every run over markers begins."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import Stage


def kinematics_of(stages: Sequence[Stage]) -> Kinematics:
    """The kinematics of a run's stages, which come first."""
    kinematics = stages[0]
    assert isinstance(kinematics, Kinematics)
    return kinematics
