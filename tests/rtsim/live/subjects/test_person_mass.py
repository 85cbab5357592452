"""The mass of a person who stands on force plates, and which of several masses is used."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rtsim.config.paths import find_config
from rtsim.config.runs.run_schema import RunConfig
from rtsim.files.forces.force_trial import ForceTrial, RawForces, force_trial
from rtsim.live.subjects import person_mass
from rtsim.live.subjects.person_mass import KnownMass, Weighing, known_mass, weigh
from rtsim.models.load import load_model
from rtsim.subjects.subject import load_subject

TIMES = np.arange(50) / 50.0
PLACES = {"right": (0.1, 0.0, 0.15), "left": (0.1, 0.0, -0.15)}
HALF = np.array([[0.2, 0.0, 0.12], [0.2, 0.0, -0.12], [-0.2, 0.0, -0.12], [-0.2, 0.0, 0.12]])


def feet() -> NDArray[np.float64]:
    """Two feet that stand side by side."""
    along = np.array([[-0.1, 0.0, 0.0], [0.15, 0.0, 0.0]])
    return np.repeat(np.array([along + at for at in PLACES.values()])[None], len(TIMES), axis=0)


def plates(**loads: float) -> ForceTrial:
    """A plate under the foot of each of these sides, with a vertical force [N]."""
    force = np.array([[0.0, load, 0.0] for load in loads.values()])
    places = np.array([PLACES[side] for side in loads])
    wrench = [np.repeat(x[None], len(TIMES), axis=0) for x in (force, np.cross(places, force))]
    corners = np.array([HALF + place for place in places])
    raw = RawForces(tuple(loads), TIMES, 50.0, corners, np.zeros(len(loads)), *wrench, "made", ())
    return force_trial(raw)


def test_a_person_with_a_foot_on_each_plate_is_weighed() -> None:
    """Protects sound static trials on plates, also those of a child."""
    assert weigh(plates(right=350.0, left=336.7), TIMES, feet()) == Weighing(pytest.approx(70.0), sure=True)
    assert weigh(plates(right=75.0, left=72.15), TIMES, feet()) == Weighing(pytest.approx(15.0), sure=True)


@pytest.mark.parametrize(
    ("loads", "reason"),
    [
        ({"right": 18.0, "left": 14.0}, "no plate bears more than 50 N"),
        ({"right": 350.0}, "not both feet are on plates that bear a load"),
        ({"right": 680.0, "left": 30.0}, "not both feet are on plates that bear a load"),
        ({"right": 3500.0, "left": 3500.0}, "713.6 kg is not the mass of a person"),
    ],
    ids=["untared", "one plate", "one foot beside an untared plate", "another unit"],
)
def test_a_steady_force_is_not_a_person(loads: dict[str, float], reason: str) -> None:
    """Protects moments from the mass of an untared plate, of one foot, and of a wrong unit."""
    found = weigh(plates(**loads), TIMES, feet())
    assert found.mass_kg == 0.0
    assert reason in found.why_not


@pytest.mark.parametrize("other", [60.0, 600.0])
def test_a_load_on_a_plate_without_a_foot_is_not_the_persons(other: float) -> None:
    """Protects the mass, with both feet on one plate, from an untared plate and from a box on another."""
    corners = np.array([HALF * np.array([1.0, 1.0, 3.0]), HALF + np.array([0.0, 0.0, 0.8])])
    corners[:, :, 0] += 0.1
    force = np.array([[0.0, 600.0, 0.0], [0.0, other, 0.0]])
    wrench = [np.repeat(x[None], len(TIMES), axis=0) for x in (force, np.cross(corners.mean(axis=1), force))]
    raw = RawForces(("under", "beside"), TIMES, 50.0, corners, np.zeros(2), *wrench, "made", ())
    found = weigh(force_trial(raw), TIMES, feet())
    assert found.mass_kg == pytest.approx(600.0 / 9.81, rel=1e-3)
    assert found.sure
    assert found.elsewhere_n == pytest.approx(other)


def test_a_person_who_sways_much_is_not_weighed() -> None:
    """Protects from the mean force of somebody who moves."""
    moving = plates(right=350.0, left=350.0)
    moving.force[:, :, 1] *= 1.0 + 0.1 * np.sin(20.0 * TIMES)[:, None]
    assert "varies by more than 5 %" in weigh(moving, TIMES, feet()).why_not


def test_without_both_feet_in_view_the_weight_is_not_sure() -> None:
    """Protects sets of markers of one leg: they are weighed, but nobody says that both feet were seen."""
    one = feet()
    one[:, 1] = np.nan
    assert weigh(plates(right=350.0, left=336.7), TIMES, one) == Weighing(pytest.approx(70.0))


@pytest.mark.parametrize(
    ("weighing", "stored", "mass", "words"),
    [
        (Weighing(70.0, sure=True), 0.0, 70.0, ""),
        (Weighing(70.0, sure=True), 72.0, 70.0, ""),
        (Weighing(70.0, sure=True, elsewhere_n=60.0), 70.0, 70.0, "60 N on plates without a foot"),
        (Weighing(70.0, sure=True), 60.0, 70.0, "although 60.0 kg are stored"),
        (Weighing(35.7), 70.0, 70.0, "as stored with the trial"),
        (Weighing(70.0), 0.0, 70.0, "it was not checked whether both were on them"),
        (Weighing(why_not="no plate bears 50 N"), 70.0, 70.0, "static trial: no plate bears 50 N."),
        (Weighing(why_not="no plate bears 50 N"), 0.0, 0.0, "static trial: no plate bears 50 N."),
        (Weighing(), 0.0, 0.0, "joint moments are left out"),
    ],
)
def test_which_mass_is_used_and_what_is_told(
    monkeypatch: pytest.MonkeyPatch, weighing: Weighing, stored: float, mass: float, words: str
) -> None:
    """Protects the order of weighed and stored mass, and the user from one that was used in silence."""
    monkeypatch.setattr(person_mass, "weighing_of", lambda _: weighing)
    monkeypatch.setattr(person_mass, "stored_mass", lambda _: stored)
    subject = load_subject(find_config("walker", "subjects"))
    found = known_mass(RunConfig(name="test"), load_model("lower_limb"), subject, plates=True)
    assert found.mass_kg == mass
    assert words in found.told
    assert bool(words) == bool(found.told)
    given = known_mass(RunConfig(name="test", mass_kg=80.0), load_model("lower_limb"), subject, plates=True)
    assert given == KnownMass(80.0)
