"""The numbers of a frame whose standard deviations are tested, as one vector: all results of the pose, and
those of its filtered motion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kernels.rates.manifold import OK, manifold_of
from rtsim.config.runs.rate_schema import ButterworthSpec
from rtsim.config.runs.run_schema import Uncertainty
from rtsim.methods.kinematics.deviations import MethodDeviations, displaced_joints, places_of
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.kinematics.rate_errors import RateDeviations
from rtsim.methods.kinematics.rates import RateEstimator
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.methods.muscles.muscle_arms import arms_at
from rtsim.models.entries import coordinate_names

Array = NDArray[np.float64]


class CoverageNumbers:
    """Collects, frame by frame, the vector of numbers whose standard deviations are tested: results of the
    pose that one method estimates, and speeds and accelerations of the filtered motion.
    """

    def __init__(self, estimator: MultibodyEstimator, rate: float) -> None:
        self._estimator, self._rate, model = estimator, rate, estimator.model
        self._displaced = displaced_joints(model.names.bodies, model.joints.distal)
        placed = estimator.placed_by(estimator.method)
        self._arms = arms_at(*placed)
        self._moving = MomentArms(model, placed[1]._replace(tasks=None, limits=None))
        self._muscle_speeds = np.zeros(len(model.names.muscles))
        self._places = places_of(model.outline.body, model.outline.points)
        self._of_places = np.zeros(model.outline.points.shape)
        self._filter = RateEstimator(ButterworthSpec(), manifold_of(model.tree), rate)
        self._of_rates = RateDeviations(model.tree, ButterworthSpec(), rate, Uncertainty().skin_time_s)
        self._n_frame, self._settled, self._covariance_version = 0, False, 0
        self._of_pose = np.zeros(0)

    def take(self) -> Array:
        """Return the vector (n,) of those results of the frame just estimated whose standard deviations are
        tested; speeds and accelerations are NaN before their filter has settled.
        """
        out, rates = self._estimator.outputs, self._filter.rates
        self._arms.measure()
        self._settled = self._filter.take(self._n_frame / self._rate, self._estimator.q) == OK
        self._n_frame += 1
        parts = [out.angles, out.displacements[self._displaced], out.lengthening, out.contact_points]
        self._moving.speeds(rates.q, rates.v, self._muscle_speeds)
        parts += [out.points, self._arms.lengths, rates.v, rates.v_dot, self._muscle_speeds]
        return np.concatenate([np.ravel(part) for part in parts])

    def deviations(self) -> Array:
        """Compute the standard deviations of the frame just estimated, and return those of the tested numbers
        in the order of `take`, (n,). As in a live run, deviations that follow from the covariance of the
        pose stay unchanged until the covariance is computed again.
        """
        found = self._estimator.deviations
        assert found is not None
        covariance_version = found.covariance_version if self._settled else -found.covariance_version
        if covariance_version != self._covariance_version:
            self._covariance_version = covariance_version
            self._of_pose = self._from_covariance(found)
        parts = [found.angles, found.displacements, found.lengthening, found.contact_points, self._of_pose]
        return np.concatenate([np.ravel(part) for part in parts])

    def _from_covariance(self, found: MethodDeviations) -> Array:
        """Return the standard deviations (n,) of positions, muscle lengths, speeds and accelerations, from
        the covariance of the pose; those of speeds and accelerations are NaN before the filter has
        settled.

        found : deviations and covariance that the method computed in this frame
        """
        found.write_places(self._places, self._of_places)
        slopes = self._arms.gradient
        of_muscles = np.sqrt(np.einsum("md,de,me->m", slopes, found.covariance, slopes))
        of_speeds = np.full(len(of_muscles), math.nan)
        if self._settled:
            self._of_rates.update(found, self._filter.rates, self._n_frame / self._rate)
        else:
            self._of_rates.forget()
        if self._of_rates.known:
            of_speeds = self._of_rates.speeds_of(self._moving.slopes)
        rates = [self._of_rates.v, self._of_rates.v_dot, of_speeds]
        return np.concatenate([self._of_places.ravel(), of_muscles, *rates])


def names_of(estimator: MultibodyEstimator) -> list[str]:
    """Return the names of the numbers whose standard deviations are tested, in the order of the vector that
    CoverageNumbers collects.
    """
    model = estimator.model
    names, motions = model.names, coordinate_names(model)[1]
    displaced = displaced_joints(names.bodies, model.joints.distal)
    shifts = ("anterior", "proximal", "lateral")
    ends = [f"end_of_{names.bodies[b]}" for b in model.outline.body[len(names.bodies) :]]
    return [
        *names.joint_angles,
        *(f"knee_{shift}" for _ in displaced for shift in shifts),
        *(f"lengthening_{names.elements[e]}" for e in model.reported.ligaments),
        *(f"contact_{names.elements[e]}_{axis}" for e in model.reported.contacts for axis in "xyz"),
        *(f"place_{place}_{axis}" for place in (*names.bodies, *ends) for axis in "xyz"),
        *(f"length_{muscle}" for muscle in names.muscles),
        *(f"speed_{motion}" for motion in motions),
        *(f"acceleration_{motion}" for motion in motions),
        *(f"muscle_speed_{muscle}" for muscle in names.muscles),
    ]
