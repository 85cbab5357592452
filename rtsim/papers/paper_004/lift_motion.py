"""The stoop lift to which joint torque generators are fitted: angles, speeds and moments of the joints of a
person who bends and lifts a box. It is the recorded lift of Millard et al. (2019) or another one if the
user gives its file (`--recording`), else a synthetic one.

Millard et al. publish their lift as a table (ID_2D/q_stoop2.csv) and its companions in
github.com/mjhmilla/MillardSreenivasaMombaur2017.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtsim.bench.mechanics.torque_generators import MADE_UP, RECORDED, made_up
from rtsim.errors import ConfigError
from rtsim.methods.generators.joint_motion import JointMotion, read_joint_motion
from rtsim.methods.generators.torque_generator_fit import FitSettings, FittedGenerator, fit_all
from rtsim.models.generator_sets import generators_of, load_set
from rtsim.models.packing.torque_generators import PlacedGenerator

Array = NDArray[np.float64]

N_SAMPLE, DEEPEST_DEG = 196, 121.0
"""Number of samples of the paper's trial (section 2.3), and its greatest hip flexion (figure 4)."""
PASSIVE_OF_PAPER = 1.0
"""Limit t^PE_max with which the published fits are reproduced; the text of the paper states 1.4."""
HIPS = {
    RECORDED: ("Hip_R_extensor", "Hip_L_extensor"),
    MADE_UP: ("hip_flexion_r_extensor", "hip_flexion_l_extensor"),
}
BENT, LOADED = 0.42, 0.3
"""Hip torque of the synthetic lift as fractions of the isometric strength: for the bent body, and for the
load.
"""
MADE_UP_DATA = (
    "a synthetic lift as deep as that of Millard et al. (2019); --recording reads the authors' q_stoop2.csv"
)
N_RANDOM, FARTHEST = 30, (2.0, 2.0, np.pi / 2.0, 1.0, 2.0)
"""Number of random initial guesses in addition to the usual ones, and limits of s_A, s_V, Delta_P [rad],
lambda_P and s_tau in them.
"""


class LiftMotion(NamedTuple):
    """A lift and the torque generators at its joints.

    motion : angles, speeds and moments of the joints
    placed : the torque generators; hips : names of the extensors of the right and the left hip
    is_of_paper : whether it is the paper's own lift, judged by its number of samples and its greatest hip
        flexion
    data : source of the lift, for the foot of a figure
    """

    motion: JointMotion
    placed: tuple[PlacedGenerator, ...]
    hips: tuple[str, str]
    is_of_paper: bool
    data: str


def lift_of(recording: Path | None) -> LiftMotion:
    """Return the lift in a file, with the torque generators at its joints; None = the synthetic lift."""
    if recording is None:
        placed = generators_of(MADE_UP)
        return LiftMotion(deep_lift(placed), placed, HIPS[MADE_UP], False, MADE_UP_DATA)
    body = load_set(RECORDED)
    motion = read_joint_motion(recording, [joint.coordinate for joint in body.joints], body.columns)
    placed = generators_of(RECORDED)
    hip = next(one for one in placed if one.name == HIPS[RECORDED][0])
    if hip.joint.coordinate not in motion.names:
        raise ConfigError(
            f"the recording of the lift has no coordinate {hip.joint.coordinate}", where=str(recording),
            allowed=", ".join(joint.coordinate for joint in body.joints),
        )  # fmt: skip
    deepest = float(np.degrees(np.nanmax(hip.joint.flexion_sign * motion.of(hip.joint.coordinate)[0])))
    own = len(motion.times) == N_SAMPLE and abs(deepest - DEEPEST_DEG) <= 0.5
    whose = (
        "the trial of Millard et al. (2019), as its number of samples and its depth show"
        if own
        else "from another lift than that of Millard et al. (2019)"
    )
    return LiftMotion(motion, placed, HIPS[RECORDED], own, f"{recording.name}, {whose}")


def deep_lift(placed: tuple[PlacedGenerator, ...]) -> JointMotion:
    """Return the synthetic lift of the torque generators' benchmark
    (rtsim/bench/mechanics/torque_generators), with both hips flexed as deep as in the paper, and a heavier
    load on the way up.

    placed : torque generators at the joints
    """
    motion = made_up(placed)
    part = (motion.times - motion.times[0]) / (motion.times[-1] - motion.times[0])
    bend = 0.5 * (1.0 - np.cos(2.0 * np.pi * part))
    loaded = 1.0 / (1.0 + np.exp(-(part - 0.52) / 0.01))
    for name in HIPS[MADE_UP]:
        one = next(one for one in placed if one.name == name)
        k = motion.names.index(one.joint.coordinate)
        motion.angle[:, k] = one.joint.flexion_sign * np.radians(DEEPEST_DEG) * bend
        motion.speed[:, k] = np.gradient(motion.angle[:, k], motion.times)
        size = one.spec.strength_Nm * bend * (BENT + LOADED * loaded)
        motion.moment[:, k] = one.torque_sign * size
    return motion


def fit_of(lift: LiftMotion, name: str, **settings: object) -> FittedGenerator:
    """Fit one torque generator to the lift; ConfigError if it cannot be fitted.

    name : name of the generator; settings : settings of the fit, as fields of FitSettings
    """
    one = next(one for one in lift.placed if one.name == name)
    if one.joint.coordinate not in lift.motion.names:
        raise ConfigError(
            f"the recording of the lift has no coordinate {one.joint.coordinate}", where="--recording"
        )
    (fit,) = fit_all([one], lift.motion, FitSettings(**settings))  # type: ignore[arg-type]
    if fit.fault:
        raise ConfigError(f"{name} was not fitted: {fit.fault}", where="--recording")
    return fit


def random_starts(n: int = N_RANDOM, seed: int = 0) -> tuple[tuple[float, ...], ...]:
    """Return n random initial guesses (5,) of the fitted parameters, uniformly distributed between their
    default values and the limits FARTHEST; the shift of the passive curve may have either sign.
    """
    drawn = np.random.default_rng(seed).uniform(size=(n, len(FARTHEST)))
    low = np.array([1.0, 1.0, -FARTHEST[2], 0.0, 1.0])
    return tuple(tuple(row) for row in (low + drawn * (np.array(FARTHEST) - low)).tolist())
