"""The stage with which every run over markers begins."""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import Stage


def kinematics_if_any(stages: Sequence[Stage]) -> Kinematics | None:
    """Return the kinematics of a run's stages, which come first; None where a motion drives the model."""
    return stages[0] if isinstance(stages[0], Kinematics) else None


def kinematics_of(stages: Sequence[Stage]) -> Kinematics:
    """Return the kinematics of the stages of a run over markers."""
    kinematics = kinematics_if_any(stages)
    assert kinematics is not None
    return kinematics
