"""The stages of a run that other modules look for: the kinematics, which is the first stage, and the gait
phases.
"""

from __future__ import annotations

from collections.abc import Sequence

from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.stages.gait_phase import GaitPhases
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import Stage
from rtsim.subjects.subject import Subject


def first_stage(estimator: MultibodyEstimator, subject: Subject | None) -> Kinematics:
    """Return a kinematics stage that uses this estimator, so that its kernels can be compiled before a run.

    subject : the tracked person; None if the markers are those that the model file defines
    """
    return Kinematics(estimator, subject)


def kinematics_if_any(stages: Sequence[Stage]) -> Kinematics | None:
    """Return the kinematics among a run's stages, which is the first one; None if a prescribed motion drives
    the model."""
    return stages[0] if isinstance(stages[0], Kinematics) else None


def kinematics_of(stages: Sequence[Stage]) -> Kinematics:
    """Return the kinematics among the stages of a run that uses markers."""
    kinematics = kinematics_if_any(stages)
    assert kinematics is not None
    return kinematics


def gait_phases_if_any(stages: Sequence[Stage]) -> GaitPhases | None:
    """Return the stage that finds the phases of the gait; None without one."""
    return next((stage for stage in stages if isinstance(stage, GaitPhases)), None)
