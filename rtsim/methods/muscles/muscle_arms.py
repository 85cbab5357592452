"""Muscle lengths and moment arms, frame by frame, at the pose that a marker method finds.

The arms are about the joint angles or, for a model that names none, about the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernels.compiler.held_arguments import HeldCall
from kernels.compiler.jit import hold
from kernels.joints.tree import Pose, without_tables
from kernels.path.joint_arms import JointLeverage, joint_moment_arms, new_joint_leverage_work
from kernels.path.muscle_path import OK, STATUS_NAMES
from kernels.solver.constraints import Roles
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.models.model import Model


class MuscleArms:
    """Muscle lengths and moment arms by one kinematic method of a model.

    Parameters
    ----------
    model, roles : the model, and the constraints that the method uses
    pose, q : arrays of the bodies' poses and the coordinates, written by the solver

    Attributes
    ----------
    lengths : (n_muscle,) [m], NaN where a muscle path cannot be computed
    arms : (n_muscle, n_angle) [m] about the joint angles (kernels/joints/joint_angles), r = -dl/dtheta; NaN
        about an angle that the joint does not have, and where a path cannot be computed
    """

    def __init__(self, model: Model, roles: Roles, pose: Pose, q: np.ndarray) -> None:
        leverage = JointLeverage(
            without_tables(model.tree), model.constraints(roles), model.stations, model.surfaces, model.joints
        )
        self.names = model.names.muscles
        self.lengths = np.full(len(self.names), np.nan)
        self.arms = np.full((len(self.names), len(model.names.joint_angles)), np.nan)
        self._work = new_joint_leverage_work(leverage)
        self._arguments = (leverage, pose, q, self._work, self.lengths, self.arms)
        self._run: HeldCall | None = None

    def measure(self) -> int:
        """Update lengths and moment arms to the present pose; returns how many muscle paths cannot be
        computed.
        """
        if self._run is None:  # compiled at the first call, which warm-up makes
            self._run = hold(joint_moment_arms, self._arguments)
        return int(self._run())

    @property
    def gradient(self) -> np.ndarray:
        """(n_muscle, n_v) derivatives of the muscle lengths with respect to the tangent coordinates."""
        return self._work.path.gradient

    def failures(self) -> Iterator[tuple[str, str]]:
        """Yield the muscles whose path could not be computed in the last evaluation, each with the reason."""
        for name, status in zip(self.names, self._work.path.status, strict=True):
            if status != OK:
                yield name, STATUS_NAMES[status]


class CoordinateArms:
    """Muscle lengths and moment arms with one method of a model that names no anatomical joints.

    lengths : (n_muscle,) [m], NaN where a muscle path cannot be computed
    arms : (n_muscle, n_angle) about every coordinate, then the named angles, r = -dl/dtheta [m]; about a
        displacement an arm has no unit
    """

    def __init__(self, model: Model, roles: Roles, q: np.ndarray) -> None:
        self._of, self._q = MomentArms(model, roles._replace(tasks=None, limits=None)), q
        self.names = model.names.muscles
        self.lengths = np.full(len(self.names), np.nan)
        self.arms = np.full((len(self.names), len(model.names.angles)), np.nan)

    def measure(self) -> int:
        """Update lengths and moment arms to the present pose; returns how many muscle paths cannot be
        computed.
        """
        return self._of.measure(self._q, self.lengths, self.arms)

    @property
    def gradient(self) -> np.ndarray:
        """(n_muscle, n_v) derivatives of the muscle lengths with respect to the tangent coordinates."""
        return self._of.gradient

    def failures(self) -> Iterator[tuple[str, str]]:
        """Yield the muscles whose path could not be computed in the last evaluation, each with the reason."""
        yield from self._of.failures(self._q).items()


def arms_at(model: Model, roles: Roles, pose: Pose, q: np.ndarray) -> MuscleArms | CoordinateArms:
    """Return the object that computes moment arms of a model's muscles about the angles that the model
    names."""
    if model.names.joint_angles:
        return MuscleArms(model, roles, pose, q)
    return CoordinateArms(model, roles, q)
