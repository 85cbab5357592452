"""Synthetic steps of a foot with known contact parameters, with as many data as those of Brown (2017): 128
frames per second, and pressure in 39 x 16 cells.

A foot comes down on its heel, lies flat and rolls off over its toes. Its height is such that the ellipsoids
carry the two-peaked force of walking; the contact forces in this motion, computed by the kernels, serve as
the measurement. The recorded motion differs from the true one by a correction within the thesis' bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from kernels.contact.recorded import new_recorded_work, recorded_wrenches
from rtsim.methods.foot.foot_misfit import StepMisfit, Weights
from rtsim.methods.foot.foot_motion import N_KNOT, N_SPLINE, SPLINE_SCALE, TOE, StepMotion
from rtsim.methods.foot.foot_parameters import TABLE_5_4, fill, new_foot
from rtsim.methods.foot.foot_pressure import StepPressure, chosen_frames
from rtsim.methods.foot.foot_trial import FootTrial
from rtsim.subjects.feet.foot_frame import FootFrame

Array = NDArray[np.float64]

RATE = 128.0
WEIGHT = 688.0
"""Weight of the thesis' subject [N] (table 5.3)."""
GRID = (16, 39)
SHARE = 0.35
"""Part of the correction's bounds that the true motion uses."""
PHASE = np.array([0.0, 0.08, 0.2, 0.4, 0.55, 0.7, 0.85, 1.0])
"""Parts of the contact at which pitch, force and the toes' rotation are given below."""
PITCH = np.radians([16.0, 6.0, 0.5, -1.0, -4.0, -14.0, -32.0, -52.0])
BORNE = np.array([0.04, 0.6, 1.05, 0.8, 0.85, 1.1, 0.85, 0.05])
"""Parts of the weight."""
BENT = np.array([0.0, 0.05, 0.05, 0.1, 0.2, 0.35, 0.6, 0.75])
"""Toes against the foot [rad]."""


class SyntheticStep(NamedTuple):
    """A synthetic step with the true parameters and the true motion correction."""

    trial: FootTrial
    parameters: Array  # (30,)
    knots: Array  # (N_SPLINE, N_KNOT)


def thesis_frame() -> FootFrame:
    """Return the foot of Brown (2017) with the toes' axis of its table 5.2; the toes are level when the
    foot stands flat.
    """
    medial = np.array([0.949, -0.306, 0.0])
    medial /= np.linalg.norm(medial)
    up = np.array([0.0, 0.0, 1.0])
    toes = np.stack([medial, np.cross(up, medial), up], axis=1)
    origin = np.array([0.0468, 0.2059, -0.0171])
    return FootFrame(
        names=(),
        markers=np.zeros((0, 3)),
        toe_origin=origin,
        toe_axes=toes,
        up=up,
        heel_height=0.0331,
        length=float(origin[1]),
        notes=(),
    )


def true_parameters(seed: int) -> Array:
    """Draw contact parameters (30,) that differ at random from those of Brown (2017, table 5.4) by 8 to 20 %;
    stiffness and damping have fixed values.
    """
    rng = np.random.default_rng([seed, 41])
    off = rng.uniform(0.08, 0.2, len(TABLE_5_4)) * rng.choice([-1.0, 1.0], len(TABLE_5_4))
    small = np.where(TABLE_5_4 == 0.0, 0.02, np.abs(TABLE_5_4))
    x = TABLE_5_4 + off * small
    x[0], x[1] = 1.3e7, -0.8
    return x


def known_step(
    parameters: Array,
    seed: int,
    seconds: float = 0.75,
    noise: float = 0.0,
    *,
    pressure: bool = True,
    friction: bool = False,
) -> SyntheticStep:
    """Generate a synthetic footstep of a foot with the contact parameters `parameters` (30,), lasting
    `seconds` [s].

    noise : standard deviation of the random errors of the force, as a fraction of body weight; of the centre
      of pressure, as a fraction of 0.2 m; and of each pressure, as a fraction of that pressure

    Friction acts at the centroid of the overlap, which is below the plane, and so it shifts the centre of
    pressure. A fit without friction can therefore not reproduce a footstep with friction.
    """
    rng = np.random.default_rng([seed, 43])
    n = round(seconds * RATE) + 1
    times = np.arange(n) / RATE
    phase = times / times[-1]
    knots = rng.uniform(-SHARE, SHARE, (N_SPLINE, N_KNOT)) * SPLINE_SCALE[:, None]
    knots[TOE] = CubicSpline(PHASE, BENT)(np.linspace(0.0, 1.0, N_KNOT)) * rng.uniform(0.9, 1.1)
    trial = _moved(parameters, knots, phase, times, rng)
    model = new_foot(friction)
    fill(model, parameters)
    step = StepMisfit(trial, Weights(), model)
    if pressure:
        trial = _with_cells(trial)
        step = StepMisfit(trial, Weights(), model)
    found = step.simulate(knots)
    force = found.force + noise * WEIGHT * rng.normal(size=(n, 3))
    centre = found.centre + noise * 0.2 * rng.normal(size=(n, 2))
    felt = trial.pressure
    if felt is not None and found.pressure is not None:
        felt = felt._replace(pressure=found.pressure * (1.0 + noise * rng.normal(size=found.pressure.shape)))
    trial = trial._replace(force=force, centre=centre, free_moment=found.free_moment, pressure=felt)
    return SyntheticStep(trial, parameters, knots)


def _moved(
    parameters: Array, knots: Array, phase: Array, times: Array, rng: np.random.Generator
) -> FootTrial:
    """Build a synthetic footstep with its recorded motion; its forces are zero and are computed later.

    parameters : (30,) contact parameters; knots : knots of the true correction of the motion
    phase : (n,) part of the contact that has passed, 0 to 1; times : (n,) [s]
    rng : draws the variation of pitch, roll and yaw of the foot
    """
    n = len(times)
    pitch = CubicSpline(PHASE, PITCH)(phase) * rng.uniform(0.93, 1.07)
    roll, yaw = (
        a * np.sin(np.pi * phase * b) for a, b in zip(rng.uniform(-0.04, 0.04, 2), (1, 2), strict=True)
    )
    rotation = Rotation.from_euler("ZYX", np.stack([yaw, roll, pitch], axis=1)).as_matrix()
    heel = 0.06 * np.clip((phase - 0.5) / 0.5, 0.0, None) ** 2
    position = np.stack([np.zeros(n), heel, _heights(parameters, knots, rotation, phase)], axis=1)
    whole = CubicSpline(times, position)
    angles = Rotation.from_matrix(rotation)
    turning = np.gradient(angles.as_rotvec(), times, axis=0)  # to first order, made exact below
    turning = _turning(rotation, times, turning)
    zero = np.zeros((n, 3))
    return FootTrial(
        name="synthetic", side="left", times=times, position=position, rotation=rotation,
        velocity=whole(times, 1), turning=turning, force=zero, centre=np.zeros((n, 2)),
        free_moment=np.zeros(n), weight=WEIGHT, frame=thesis_frame(),
        ground=np.vstack([np.eye(3), np.zeros(3)]),
    )  # fmt: skip


def _turning(rotation: Array, times: Array, like: Array) -> Array:
    """Compute the angular velocity (n, 3) [rad/s] of a foot with the rotations (n, 3, 3) at times (n,) [s],
    from splines through the elements of the rotation matrices. like : (n, 3) an array of the shape of the
    result
    """
    slopes = CubicSpline(times, rotation.reshape(len(times), 9))(times, 1).reshape(-1, 3, 3)
    W = np.einsum("nij,nkj->nik", slopes, rotation)
    found = 0.5 * np.stack(
        [W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]], axis=1
    )
    assert found.shape == like.shape
    return found


def _heights(parameters: Array, knots: Array, rotation: Array, phase: Array) -> Array:
    """Compute the heights of the heel (n,) [m] at which the contacts of a foot at rest bear the vertical
    force of walking.

    parameters : (30,) contact parameters; knots : knots of the correction of the motion
    rotation : (n, 3, 3) rotation of the foot; phase : (n,) part of the contact that has passed, 0 to 1
    """
    n = len(phase)
    zero = np.zeros((n, 3))
    trial = FootTrial(
        name="", side="left", times=phase, position=zero.copy(), rotation=rotation, velocity=zero,
        turning=zero, force=zero, centre=zero[:, :2], free_moment=zero[:, 0], weight=WEIGHT,
        frame=thesis_frame(), ground=np.zeros((4, 3)),
    )  # fmt: skip
    model = new_foot(friction=False)
    fill(model, parameters)
    wanted = WEIGHT * np.clip(CubicSpline(PHASE, BORNE)(phase), 0.03, None)
    found = np.empty(n)
    bent = StepMotion(trial).at(knots).recorded
    for k in range(n):
        one = type(bent)(*(array[k : k + 1].copy() for array in bent))
        one.velocity[:], one.turning[:] = 0.0, 0.0
        work, rest = new_recorded_work(model, 1, 2), one.position[:, :, 2].copy()

        def missing(height: float, k: int = k, one=one, work=work, rest=rest) -> float:
            one.position[:, :, 2] = rest + height
            recorded_wrenches(model, one, work)
            return float(work.wrench[0, 5] - wanted[k])

        found[k] = brentq(missing, -0.05, 0.3)
    return found


def _with_cells(trial: FootTrial) -> FootTrial:
    """Return the step with the cells of a pressure mat of the size used by Brown (2017)."""
    across, along = np.linspace(-0.06, 0.10, GRID[0]), np.linspace(-0.04, 0.31, GRID[1])
    cells = np.stack(np.meshgrid(across, along), axis=-1).reshape(-1, 2)
    frames = chosen_frames(len(trial.times))
    area = float((across[1] - across[0]) * (along[1] - along[0]))
    return trial._replace(pressure=StepPressure(frames, cells, area, np.zeros((len(frames), len(cells)))))
