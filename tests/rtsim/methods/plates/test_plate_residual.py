"""Whole-body momentum tells what is wrong with plates and mass: the likeliest of single mistakes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.runs.rate_schema import ButterworthSpec, RateSpec, SavitzkyGolaySpec
from rtsim.files.recording import Results
from rtsim.methods.kinematics.rates import filter_of
from rtsim.methods.plates.kinetic_figures import in_sentences, kinetic_figures
from rtsim.methods.plates.plate_residual import judge_residual, smoothed
from streams.messages import FieldSpec, Session, new_session_id

Array = NDArray[np.float64]

N, RATE, MASS = 300, 100.0, 70.0
WEIGHT = 9.81 * MASS
TIMES = np.arange(N) / RATE
PLATES = ("front", "back")


def walk() -> Array:
    """(n, 2, 3) - forces [N] of two plates under one who walks along X in steps of 0.6 s."""
    phase = (TIMES / 1.2)[:, None] + [0.0, 0.5]
    share = np.clip(3.0 * np.sin(2.0 * np.pi * phase) + 0.5, 0.0, 1.0)
    share /= share.sum(axis=1, keepdims=True)
    up = 1.0 + 0.2 * np.cos(4.0 * np.pi * TIMES / 0.6 + 0.4)
    along = 0.18 * np.sin(2.0 * np.pi * TIMES / 0.6)
    across = 0.05 * np.sign(np.sin(2.0 * np.pi * TIMES / 1.2))
    whole = WEIGHT * np.stack([along, up, across], axis=1)
    return share[:, :, None] * whole[:, None]


def recorded(told: Array, mass: float = MASS, absent: float = 0.0, spec: RateSpec | None = None) -> Results:
    """What a run gives whose plates told (n, 2, 3) while one of 70 kg walked; noise of 0.03 weights."""
    spec = spec or ButterworthSpec()
    noise = 0.03 * np.random.default_rng(3).normal(size=(N, 3))
    asked = (mass / MASS) * smoothed(spec, RATE, TIMES, walk().sum(axis=1))[0] / (9.81 * mass) + noise
    place = np.zeros((N, 3))  # a root that keeps its speed, so that what is absent only weighs
    left = asked - absent * np.array([0.0, 1.0, 0.0])
    left -= smoothed(spec, RATE, TIMES, told.sum(axis=1))[0] / (9.81 * mass)
    fields = {
        "plate_status": np.zeros((N, 2)),
        "plate_forces": told,
        "plate_centres": np.zeros((N, 2, 3)),
        "plate_shares": np.tile(np.eye(2), (N, 1, 1)),
        "foot_loads": told[..., 1].copy(),
        "joint_moments": np.zeros((N, 2)),
        "joint_angles": np.zeros((N, 2)),
        "segment_positions": place[:, None],
        "residual_force": left,
        "residual_moment": np.zeros((N, 3)),
    }
    angles = ("knee_flexion_r", "knee_flexion_l")
    labels = {
        "plate_forces": PLATES,
        "joint_moments": angles,
        "joint_angles": angles,
        "segment_positions": ("pelvis",),
    }
    specs = tuple(FieldSpec(k, x.shape[1:], "1", labels.get(k, ())) for k, x in fields.items())
    rates = {**{k: v for k, v in msgspec.to_builtins(spec).items() if v is not None}, "delay_s": [0.06] * 3}
    meta = {"mass_kg": mass, "model_mass_kg": (1.0 - absent) * mass, "stature_m": 1.7, "rates": rates}
    session = Session(
        session=new_session_id(), stream="result", t_start=0, rate=RATE, fields=specs, meta=meta
    )
    return Results(session, fields, TIMES, np.zeros(N, np.int64))


def flipped(axis: int, *plates: int) -> Callable[[Array], Array]:
    def change(force: Array) -> Array:
        force[:, list(plates), axis] *= -1.0
        return force

    return change


def scaled(gain: float, *plates: int) -> Callable[[Array], Array]:
    def change(force: Array) -> Array:
        force[:, list(plates)] *= gain
        return force

    return change


def turned(force: Array) -> Array:
    return np.stack([force[..., 2], force[..., 1], -force[..., 0]], axis=-1)


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (scaled(0.8, 0, 1), "mass", "80 % of the force that a mass of 70.0 kg requires"),
        (scaled(1.3, 0, 1), "mass", "130 % of the force that a mass of 70.0 kg requires"),
        (scaled(0.75, 1), "gain", "back measures 75 %"),
        (flipped(0, 0, 1), "shear_sign", "all plates along X has the wrong sign"),
        (flipped(2, 0, 1), "shear_sign", "all plates along Z has the wrong sign"),
        (flipped(0, 1), "shear_sign", "back along X has the wrong sign"),
        (lambda force: flipped(0, 0, 1)(flipped(2, 0, 1)(force)), "shear_sign", "along X and Z"),
        (turned, "turned", "rotated by"),
        (lambda force: np.roll(force, 4, axis=0), "late", "40 ms late"),
        (lambda force: np.roll(force, -4, axis=0), "late", "40 ms early"),
    ],
)
def test_one_mistake_is_named(change: Callable[[Array], Array], name: str, said: str) -> None:
    """Protects the likeliest cause: gains of all plates and of one, signs, turns, plates out of step."""
    found = judge_residual(recorded(change(walk())), MASS)
    assert found is not None
    assert found["mistake"] == name, found
    assert said in found["sentence"]


@pytest.mark.parametrize(
    ("mass", "said"),
    [(84.0, "the mass is 69.8 kg"), (56.0, "the mass is 69.8 kg"), (154.3, "pounds, but read as kilograms")],
)
def test_a_wrong_mass_is_told_with_the_right_one(mass: float, said: str) -> None:
    """Protects the mass as it was entered: 20 % off either way, and in pounds."""
    found = judge_residual(recorded(walk(), mass), mass)
    assert found is not None
    assert found["mistake"] == "mass"
    assert said in found["sentence"]


@pytest.mark.parametrize("gain", [0.92, 1.0, 1.08])
def test_plates_that_agree_are_quiet(gain: float) -> None:
    """Protects from false alarms within what a mass or a plate may be off, noise or not."""
    found = judge_residual(recorded(gain * walk()), MASS)
    assert found is not None
    assert found["mistake"] == ""


def test_a_body_without_its_trunk_is_judged_by_its_root() -> None:
    """Protects recordings whose trunk is not marked: what is absent is no mistake, and hides none."""
    quiet = judge_residual(recorded(walk(), absent=0.47), MASS)
    loud = judge_residual(recorded(flipped(0, 0, 1)(walk()), absent=0.47), MASS)
    assert quiet is not None
    assert loud is not None
    assert (quiet["mistake"], loud["mistake"]) == ("", "shear_sign")


def test_nothing_is_said_without_enough_of_it() -> None:
    """Protects runs without a filter, and with next to no frame in which all feet are known."""
    results = recorded(walk())
    results.fields["residual_force"][20:] = np.nan
    assert judge_residual(results, MASS) is None
    results.session.meta.pop("rates")
    assert judge_residual(results, MASS) is None


def test_a_run_too_slow_for_its_filter_is_not_judged() -> None:
    """Protects results at few frames per second, whose filter of motion could not be made: the summary leaves
    the momentum out, and does not fail."""
    results = recorded(walk())
    slow = msgspec.structs.replace(results.session, rate=10.0)
    slow.meta["rates"].pop("delay_s")
    results = results._replace(session=slow, times=np.arange(N) / 10.0)
    assert judge_residual(results, MASS) is None
    figures = kinetic_figures(results)
    assert figures is not None
    assert figures["momentum"] is None
    assert in_sentences(figures)


def test_a_delay_that_is_only_asked_for_is_no_filter() -> None:
    """Protects summaries of runs whose filter of motion could not be made, and whose recordings state the
    delay of its settings."""
    results = recorded(walk(), spec=SavitzkyGolaySpec(window_s=0.1, order=3, delay_s=0.05))
    slow = msgspec.structs.replace(results.session, rate=10.0)
    slow.meta["rates"]["delay_s"] = 0.05
    assert judge_residual(results._replace(session=slow, times=np.arange(N) / 10.0), MASS) is None


def test_who_sits_is_not_judged() -> None:
    """Protects from a chair that bears what no plate tells."""
    results = recorded(0.5 * walk())
    results.fields["joint_angles"][:] = np.radians(80.0)
    assert judge_residual(results, MASS) is None


@pytest.mark.parametrize(
    "spec", [ButterworthSpec(cutoff_hz=9.0, order=4), SavitzkyGolaySpec(window_s=0.2, order=3, delay_s=0.05)]
)
def test_the_filter_is_that_of_the_run(spec: RateSpec) -> None:
    """Protects forces from another filter than the motion's, as the session tells it."""
    told = {key: value for key, value in msgspec.to_builtins(spec).items() if value is not None}
    assert filter_of(told | {"delay_s": [0.05, 0.05, 0.05], "noise_gain": [1.0, 1.0, 1.0]}) == spec


def test_the_closing_lines_warn() -> None:
    """Protects what a user reads."""
    figures = kinetic_figures(recorded(flipped(0, 0, 1)(walk())))
    assert figures is not None
    (said,) = [line for line in in_sentences(figures) if line.startswith("warning, plates")]
    assert "along X has the wrong sign" in said
    quiet = kinetic_figures(recorded(walk()))
    assert quiet is not None
    assert not any("warning" in line for line in in_sentences(quiet))


def test_of_one_leg_alone_nothing_is_said():
    """Protects from untrue sentences: the other leg swings as no root does, and its momentum is not known."""
    told = walk()
    told[..., 2] *= -1.0
    results = recorded(told)
    assert judge_residual(results, MASS)["mistake"] == "shear_sign"
    specs = tuple(
        msgspec.structs.replace(spec, labels=("knee_flexion", "ankle_dorsiflexion"))
        if spec.name == "joint_angles"
        else spec
        for spec in results.session.fields
    )
    one = results._replace(session=msgspec.structs.replace(results.session, fields=specs))
    assert judge_residual(one, MASS) is None


def test_a_recording_that_was_played_faster_is_judged_like_at_its_own_speed() -> None:
    """Protects the filter and the seconds from the rate of a stream: both are in the time of the trial."""
    results = recorded(flipped(0, 0, 1)(walk()))
    session = results.session
    meta = {**session.meta, "speed": 2.0}
    faster = results._replace(session=msgspec.structs.replace(session, rate=2.0 * RATE, meta=meta))
    assert judge_residual(faster, MASS) == judge_residual(results, MASS)
