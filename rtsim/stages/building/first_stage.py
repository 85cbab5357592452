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
    """Return a kinematics stage, as the compiler calls it; subject : None where the model has markers."""
    return Kinematics(estimator, subject)


def kinematics_if_any(stages: Sequence[Stage]) -> Kinematics | None:
    """Return the kinematics of a run's stages, which come first; None where a motion drives the model."""
    return stages[0] if isinstance(stages[0], Kinematics) else None


def kinematics_of(stages: Sequence[Stage]) -> Kinematics:
    """Return the kinematics of the stages of a run over markers."""
    kinematics = kinematics_if_any(stages)
    assert kinematics is not None
    return kinematics


def gait_phases_if_any(stages: Sequence[Stage]) -> GaitPhases | None:
    """Return the stage that finds the phases of the gait; None without one."""
    return next((stage for stage in stages if isinstance(stage, GaitPhases)), None)
