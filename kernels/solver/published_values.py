"""Conversion of a frame's results to the form in which they are published (output): with signs by which each
is positive in the direction that its label states, such as knee flexion, and NaN for what is not known.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from kernels.algebra.allocation import Floats, allocate
from kernels.compiler.jit import njit
from kernels.dynamics.kinetics import ALONG_AXES, IN_DISTAL


class FrameValues(NamedTuple):
    """Angles, their standard deviations and the marker faults of a frame as the kernels compute them.

    angle : (n_angle,) joint angles [rad]; empty for a model without named joint angles
    sign : (n_angle,) 1 or -1, by which each angle is multiplied for publication; empty as `angle`
    deviation : (n_angle,) standard deviations of the angles [rad]; empty if none are computed
    uncertain : (n_angle,) 1 = the standard deviation is above its limit; empty if none are computed
    swap_with : (n_marker,) int64, index of the marker at whose place each marker is; -1 = none
    fault : (n_marker,) int64, kind of the fault of each marker (kernels/markers/marker_health); 0 = none
    """

    angle: np.ndarray
    sign: np.ndarray
    deviation: np.ndarray
    uncertain: np.ndarray
    swap_with: np.ndarray
    fault: np.ndarray


class PublishedValues(NamedTuple):
    """Angles, their standard deviations and the marker faults of a frame in published form.

    The fields are those of FrameValues, from which they are converted: angles are multiplied by their signs,
    and an angle that is not known is NaN, with the standard deviation NaN, and counts as uncertain.
    """

    angle: Annotated[np.ndarray, Floats("n_angle")]
    deviation: Annotated[np.ndarray, Floats("n_deviation")]
    uncertain: Annotated[np.ndarray, Floats("n_uncertain")]
    swap_with: Annotated[np.ndarray, Floats("n_marker")]
    fault: Annotated[np.ndarray, Floats("n_marker")]


class PublishedLoads(NamedTuple):
    """Joint moments and forces in published form, and the residual: the moment and force at the root body
    that the measured external forces leave unexplained. Fields `of_...` are standard deviations.
    """

    moment: Annotated[np.ndarray, Floats("3 * n_joint", fill=math.nan)]  # along the axes of the angles [N m]
    # in the distal body's axes, Z outwards on either side [N]
    force: Annotated[np.ndarray, Floats("n_joint", 3, fill=math.nan)]
    residual: Annotated[np.ndarray, Floats(2, 3, fill=math.nan)]  # divided by the body weight [m, 1]
    of_moment: Annotated[np.ndarray, Floats("3 * n_joint", fill=math.nan)]
    of_force: Annotated[np.ndarray, Floats("n_joint", 3, fill=math.nan)]
    of_rate: Annotated[np.ndarray, Floats("3 * n_joint", fill=math.nan)]  # [rad/s]
    of_power: Annotated[np.ndarray, Floats("n_joint", 2, fill=math.nan)]  # [W]
    of_residual: Annotated[np.ndarray, Floats(2, 3, fill=math.nan)]


def new_published_loads(n_joint: int) -> PublishedLoads:
    """Allocate PublishedLoads of n_joint joints, filled with NaN."""
    return allocate(PublishedLoads, n_joint=n_joint)


def new_published_values(found: FrameValues) -> PublishedValues:
    """Allocate PublishedValues with the array sizes of a FrameValues."""
    return allocate(
        PublishedValues,
        n_angle=len(found.angle),
        n_deviation=len(found.deviation),
        n_uncertain=len(found.uncertain),
        n_marker=len(found.fault),
    )


@njit
def show(found, unknown, shown):
    """Convert the angles, standard deviations and marker faults of a frame to published form.

    found : FrameValues - results as the kernels compute them
    unknown : (n_angle,) bool - whether an angle is not known; it and its deviation become NaN, and it
        counts as uncertain
    shown : PublishedValues - results in published form, written
    """
    for k in range(shown.angle.shape[0]):
        shown.angle[k] = math.nan if unknown[k] else found.sign[k] * found.angle[k]
    for k in range(shown.deviation.shape[0]):
        shown.deviation[k] = math.nan if unknown[k] else found.deviation[k]
        shown.uncertain[k] = 1.0 if unknown[k] else found.uncertain[k]
    for m in range(shown.fault.shape[0]):
        shown.swap_with[m], shown.fault[m] = found.swap_with[m], found.fault[m]


@njit
def publish_loads(found, deviations, unknown, lateral, side, weight, shown):
    """Convert the results of inverse dynamics and their standard deviations to published form.

    If an angle is not known, the loads of its joint are published as NaN. The rates and powers of that joint
    become NaN in found, too.

    found : Kinetics - its angle_rate and power may become NaN
    deviations : KineticDeviations - standard deviations of joint loads and generalized forces
    unknown : (3 n_joint,) bool - whether an angle is not known, equal for the three angles of a joint; if any
        is True, the residual at the root is NaN
    lateral : (n_joint, 3) - 1 or -1, by which forces are multiplied: Z is positive laterally on both sides
    side : (2, 3) - 1 or -1, by which residual moment and force are multiplied: -1 mirrors components back if
        a left leg was solved as a right one
    weight : float - weight of the whole person [N], by which the residual's standard deviation is divided
    shown : PublishedLoads - written
    """
    anywhere = False
    for j in range(shown.force.shape[0]):
        anywhere = anywhere or unknown[3 * j]
        for i in range(3):
            k, lost = 3 * j + i, unknown[3 * j + i]
            if lost:
                found.angle_rate[j, i] = math.nan
            moment = math.nan if lost else found.moment[j, ALONG_AXES, i]
            force = math.nan if unknown[3 * j] else lateral[j, i] * found.force[j, IN_DISTAL, i]
            shown.moment[k], shown.of_moment[k] = moment, beside(moment, deviations.moment[j, ALONG_AXES, i])
            shown.force[j, i] = force
            shown.of_force[j, i] = beside(force, deviations.force[j, IN_DISTAL, i])
            shown.of_rate[k] = beside(found.angle_rate[j, i], deviations.angle_rate[j, i])
        for i in range(2):
            if unknown[3 * j]:
                found.power[j, i] = math.nan
            shown.of_power[j, i] = beside(found.power[j, i], deviations.power[j, i])
    for i in range(2):
        for k in range(3):
            share = math.nan if anywhere else side[i, k] * found.residual_share[i, k]
            shown.residual[i, k] = share
            shown.of_residual[i, k] = beside(share, deviations.residual[i, k] / weight)


@njit
def beside(value, deviation):
    """Return the standard deviation that belongs to a value: `deviation`, or NaN if the value is NaN."""
    return math.nan if math.isnan(value) else deviation
