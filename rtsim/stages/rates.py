"""Rates: coordinates with their speeds and accelerations, all filtered with the stated delay."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kernels.rates.manifold import IGNORED, OK, RESTARTED, Manifold, Rates, manifold_of, new_rates
from rtsim.config.runs.rate_schema import RateSpec
from rtsim.errors import ConfigError
from rtsim.methods.kinematics.deviations import MethodDeviations
from rtsim.methods.kinematics.rate_errors import RateDeviations
from rtsim.methods.kinematics.rates import FASTEST, RateEstimator, Response, response
from rtsim.models.entries import coordinate_names, coordinate_units
from rtsim.models.model import Model
from rtsim.quantity import Quantity
from rtsim.stages.building.context import StageContext
from rtsim.stages.building.declaration import FORCES, MASS, StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.poses.regained_bodies import RegainedBodies
from rtsim.stages.stage import FINE, Stage, StageOutcome
from streams.messages import Session, time_rate
from streams.receiving.ring import ReceivedFrame

UNITS = ("rad, m", "rad/s, m/s", "rad/s^2, m/s^2")
ENDINGS = ("/s", "/s^2")
WENT_BACK = "times_went_back"
CLOCK = (
    "The time stamps of the frames went back: the sender's clock was set back, or an earlier frame was "
    "stamped too far ahead. Speeds, accelerations and loads are computed anew from here on."
)


class FilteredMotion(Stage):
    """The coordinates of the kinematics, their speeds and accelerations, all with the delay of one filter.

    Attributes
    ----------
    spec : the filter
    rate : frames per second of the session's time [Hz], 0 if no filter is possible
    rates : the newest filtered coordinates, speeds and accelerations; of use only where they have settled
    settled : whether the filter has settled, so that the results have the stated delay
    unsettled : (n_body,) bodies whose part of `rates` is of no use even so, as they were held near their last
        pose and were found again a short time ago
    linked : (n_body,) bodies whose loads are unknown by this
    deviations : standard deviations of the results; None if none are computed
    """

    def __init__(self, kinematics: Kinematics, spec: RateSpec) -> None:
        super().__init__()
        self.kinematics, self.spec = kinematics, spec
        self.rate, self.settled = 0.0, False
        self._estimator: RateEstimator | None = None
        self._model: Model | None = None
        self.rates: Rates = new_rates(0, 0)
        self._shown: Rates = self.rates  # what is published: NaN where `rates` are of no use
        self._regained: RegainedBodies | None = None
        self.unsettled: NDArray[np.bool_] = np.zeros(0, bool)
        self.linked: NDArray[np.bool_] = np.zeros(0, bool)
        self.deviations: RateDeviations | None = None
        self._covariance_version = -1
        self._time = self._used = math.nan  # of the newest frame, and of the newest that was filtered [s]
        self.counters["unfiltered"] = self.counters[WENT_BACK] = 0

    def warm(self) -> None:
        """Compile before the first frame what `run` and `report` call: the filter, at a frame rate that every
        kind of filter permits, and for every kinematic method the standard deviations of its results.
        """
        self.kinematics.estimator.prepare_rates()
        manifold = manifold_of(self.kinematics.estimator.model.tree)
        q = self.kinematics.estimator.model.q_neutral.copy()
        self.estimator_of(manifold, FASTEST).take(0.0, q)

    def begin(self, session: Session, anew: bool) -> None:
        """In a new session of the input stream (anew), or for a changed model, create a filter for the rate
        of the session; otherwise keep the filter with its history."""
        model = self.kinematics.estimator.model
        if not anew and model is self._model:
            return
        self._model, self.settled, self._used = model, False, math.nan
        self._estimator, self.rate, self.deviations, self._covariance_version = None, 0.0, None, -1
        manifold = manifold_of(model.tree)
        self._shown = new_rates(int(manifold.q_start[-1]), model.n_v)
        for row in self._shown:
            row[:] = math.nan
        self.rates, self._regained = self._shown, None
        self.unsettled = self.linked = np.zeros(len(model.tree.parent), bool)
        try:
            self._estimator = self.estimator_of(manifold, time_rate(session))
        except ConfigError as fault:
            self.sentences.append(f"Speeds and accelerations are not computed: {fault}")
            return
        self.rate, self.rates = time_rate(session), self._estimator.rates
        self._regained = RegainedBodies(model, self._estimator.settling_s)
        found = self.kinematics.estimator.deviations
        if found is not None:
            self.deviations = RateDeviations(model.tree, self.spec, self.rate, found.stated.skin_time_s)

    def estimator_of(self, manifold: Manifold, rate: float) -> RateEstimator:
        """Return another filter with the same settings, for other quantities, such as forces, described by
        `manifold`; ConfigError if the frame rate [Hz] is impossible for it.
        """
        return RateEstimator(self.spec, manifold, rate)

    def run(self, frame: ReceivedFrame) -> StageOutcome:
        """Filter the newest coordinates; skip frames without a solution, as the filter would remember
        them."""
        self.n_frame += 1
        self.settled, self._time = False, frame.time
        if self._estimator is not None and self._regained is not None and self.kinematics.solved:
            said = self._take(self._estimator, self._regained, frame.time)
            self.settled = said == OK
            if said == RESTARTED and frame.time < self._used:
                self.count(WENT_BACK, CLOCK)
            if said != IGNORED:
                self._used = frame.time
        self.counters["unfiltered"] += not self.settled
        return FINE

    def report(self) -> None:
        """Publish the filtered motion, and its standard deviations whenever the covariance of the pose was
        computed anew; NaN as long as the filter has not settled.
        """
        found = self.kinematics.estimator.deviations
        if self.deviations is not None and found is not None:
            self._deviate(self.deviations, found)
        for shown, row in zip(self._shown, self.rates, strict=True):
            shown[:] = row if self.settled else math.nan
        unknown = self.unsettled | self.kinematics.lost
        if unknown.any():
            self._leave_out(unknown)

    def _take(self, estimator: RateEstimator, regained: RegainedBodies, time: float) -> int:
        """Filter the newest coordinates; return a status of kernels/rates/manifold. Bodies that are found
        again start anew from rest.
        """
        of = self.kinematics.estimator
        found = regained.look(time, of)
        if found.any():
            tree = of.model.tree
            estimator.rest(of.q, np.repeat(found, np.diff(tree.q_start)), found[tree.dof_body])
        said = estimator.take(time, of.q)
        if said == RESTARTED:
            regained.forget()
        self.unsettled, self.linked = regained.unsettled, regained.linked
        return said

    def _deviate(self, deviations: RateDeviations, found: MethodDeviations) -> None:
        covariance_version = found.covariance_version if self.settled else -1
        if covariance_version == self._covariance_version:
            return
        self._covariance_version = covariance_version
        if self.settled:
            deviations.update(found, self.rates, self._time)
        else:
            deviations.forget()

    def _leave_out(self, bodies: NDArray[np.bool_]) -> None:
        """Publish NaN for the coordinates of some bodies, (n_body,), with their standard deviations."""
        tree, of = self.kinematics.estimator.model.tree, self.deviations
        of_q, of_v = np.repeat(bodies, np.diff(tree.q_start)), bodies[tree.dof_body]
        told = [*self._shown] + ([of.q, of.v, of.v_dot] if of is not None else [])
        for row, own in zip(told, 2 * (of_q, of_v, of_v), strict=False):
            row[own] = math.nan

    def quantities(self) -> list[Quantity]:
        """Return the coordinates, speeds and accelerations, joint by joint."""
        assert self._model is not None
        places, motions = coordinate_names(self._model)
        names = ("coordinates", "coordinate_speeds", "coordinate_accelerations")
        meanings = (
            "generalized coordinates, filtered, at the time of the frame minus the delay of the filter; NaN "
            "= the filter has not settled, the trunk is not seen, or the segment was found again just now",
            "time derivatives of coordinates, at the same instant; for rotations without angles, in "
            "the axes of the kernels",
            "time derivatives of coordinate_speeds, at the same instant",
        )
        of_places, of_motions = coordinate_units(self._model)
        units = (of_places, *(tuple(unit + ending for unit in of_motions) for ending in ENDINGS))
        labels, of = (places, motions, motions), self.deviations
        deviations = (None, None, None) if of is None else (of.q, of.v, of.v_dot)
        return [
            Quantity(name, row, unit, label, meaning=meaning, deviation=deviation, units=of_entries)
            for name, row, unit, label, meaning, deviation, of_entries in zip(
                names, self._shown, UNITS, labels, meanings, deviations, units, strict=True
            )
        ]

    def meta(self) -> dict[str, Any]:
        """Return the settings of the filter, and its delay and noise gain (see `stated`) for value, speed and
        acceleration, for the descriptor (first message) of the result stream; no delay where there is no
        filter at this rate."""
        told = {key: value for key, value in msgspec.to_builtins(self.spec).items() if value is not None}
        told.pop("delay_s", None)  # as it is asked for: one number
        if self.rate > 0.0:
            delay, gain = stated(self.spec, self.rate)
            told |= {"delay_s": delay.tolist(), "noise_gain": gain.tolist()}
        return {"rates": told}


@lru_cache(maxsize=8)
def stated(spec: RateSpec, rate: float) -> Response:
    """Compute delay and noise gain of a filter at a frame rate [Hz], for value, speed and acceleration. The
    noise gain is the standard deviation of the output for white noise of standard deviation 1 in the input.
    """
    return response(spec, rate)


def make(setting: StageContext) -> FilteredMotion:
    """Return the stage that filters the coordinates of the run's kinematics."""
    return FilteredMotion(setting.stage(Kinematics), setting.run.rates)


STAGE = StageDeclaration(
    make=make, needs=("kinematics",), usual=(FORCES, MASS), order=40, kernels={"forces": (FORCES,)}
)
