"""The ground under a whole person without plates: sum of all segments, share of each foot, what cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.tree import new_pose, pose
from rtsim.config.models.model_schema import ModelSpec
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.live.compiled.group_table import groups_of
from rtsim.live.result_session import ResultSession
from rtsim.live.subjects.person_mass import weighs
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.stages.ground_reaction import LOST, GroundReaction, check_whole
from rtsim.stages.rates import FilteredMotion
from rtsim.stages.stage import Stage
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.feet.foot_marks import UP
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG
from rtsim.subjects.subject import Subject
from streams.messages import marker_session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.stages.whole_person import TRUNK_MARKERS, both_legs, whole_person

Array = NDArray[np.float64]
WEIGHT = MASS_KG * 9.81
FEET = FootSpec(level="whole_body", grid=(1, 1))
RUN = RunConfig(
    name="test", method="zero", methods=("zero",), foot=FEET,
    stages=("kinematics", "rates", "ground_reaction", "foot_contact", "inverse_dynamics"),
)  # fmt: skip


@pytest.fixture(scope="module")
def person() -> Subject:
    return whole_person()


@pytest.fixture(scope="module")
def whole(person: Subject) -> ModelSpec:
    return for_person(load_model("both_legs"), person)


@pytest.fixture(scope="module")
def walked(whole: ModelSpec, person: Subject) -> MarkerTrial:
    """A second of walking at 100 Hz."""
    return walk(whole, person, 1.0)


@pytest.fixture(scope="module")
def stages(whole: ModelSpec, person: Subject) -> list[Stage]:
    return make_stages(RUN, whole, person, None, MASS_KG)


def told(
    stages: list[Stage],
    trial: MarkerTrial,
    make_frame: Callable[..., ReceivedFrame],
    positions: Array | None = None,
) -> dict[str, Array]:
    """Return fields of all frames."""
    course = ResultSession(stages, session := marker_session(trial.names, rate=trial.rate, t_start=0), {})
    rows: list[dict[str, Any]] = []
    for k, row in enumerate(trial.positions if positions is None else positions):
        frame = make_frame(session, row, k)
        result = course.run(frame)
        data = course.message(frame, result, k, result.status).data
        rows.append({name: np.frombuffer(data[name]).copy() for name in data})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.fixture(scope="module")
def walking(
    stages: list[Stage], walked: MarkerTrial, make_frame: Callable[..., ReceivedFrame]
) -> dict[str, Array]:
    return told(stages, walked, make_frame)


def centres_of_mass(stages: list[Stage], coordinates: Array) -> Array:
    """Return the centre of all mass (n, 3) at coordinates (n, n_q), by the masses of the model."""
    reaction = next(stage for stage in stages if isinstance(stage, GroundReaction))
    system = next(iter(reaction._of.values()))._system
    at = new_pose(len(system.tree.parent), len(system.tree.dof_body), len(system.tree.chains.dof))
    mass, found = system.bodies.mass, []
    for q in coordinates:
        pose(system.tree, q, at)
        centres = at.position + np.einsum("bij,bj->bi", at.rotation, system.bodies.centre)
        found.append(mass @ centres / mass.sum())
    return np.array(found)


def test_the_force_is_what_the_centre_of_mass_needs(
    stages: list[Stage], walking: dict[str, Array], walked: MarkerTrial
) -> None:
    """Protects the sum: mass times the acceleration of the centre of mass, by differences, less gravity.

    The trapezoidal rule of the filter makes a second difference the mean of accelerations, 1 : 2 : 1.
    """
    motion = next(stage for stage in stages if isinstance(stage, FilteredMotion))
    force = walking["ground_reaction_force"]
    known = np.flatnonzero(np.isfinite(force).all(axis=1))
    assert motion.settled
    assert len(known) > 60
    centre = centres_of_mass(stages, walking["coordinates"][known])
    expected = MASS_KG * (np.diff(centre, 2, axis=0) * walked.rate**2 + [0.0, 9.81, 0.0])
    mean = (force[known][:-2] + 2.0 * force[known][1:-1] + force[known][2:]) / 4.0
    np.testing.assert_allclose(mean, expected, atol=2e-3 * WEIGHT)
    assert np.ptp(force[known, 1]) > 0.1 * WEIGHT


def test_feet_bear_what_the_ground_does(
    stages: list[Stage], walked: MarkerTrial, make_frame: Callable[..., ReceivedFrame]
) -> None:
    """Protects the share: of one who stands still the ground bears the weight, feet bear all of it, nothing
    is left at the pelvis, and moments of joints follow, without deviations that nobody knows."""
    still = told(stages, walked, make_frame, np.tile(walked.positions[0], (60, 1, 1)))
    known = np.isfinite(still["foot_contact_loads"]).all(axis=1)
    assert known[40:].all()
    np.testing.assert_allclose(
        still["ground_reaction_load"][known, 0], WEIGHT, rtol=1e-4
    )  # of the table's shares
    np.testing.assert_allclose(still["foot_contact_loads"][known].sum(axis=1), WEIGHT, rtol=3e-3)
    np.testing.assert_allclose(still["residual_force"][known], 0.0, atol=3e-3)
    assert np.isfinite(still["joint_moments"][known][:, :6]).all()
    assert "joint_moments_deviation" not in still


def test_a_hidden_trunk_leaves_the_ground_unknown(
    stages: list[Stage], walked: MarkerTrial, make_frame: Callable[..., ReceivedFrame]
) -> None:
    """Protects from a guess: no force on frames in which no marker tells where the trunk is, nor while the
    filter settles on where it is found again, counted."""
    positions = walked.positions[:60].copy()
    positions[40:50, [walked.names.index(name) for name in TRUNK_MARKERS]] = np.nan
    seen = told(stages, walked, make_frame, positions)
    assert np.isnan(seen["ground_reaction_force"][40:60]).all()
    assert np.isfinite(seen["ground_reaction_force"][35:40]).all()
    assert np.isnan(seen["foot_contact_loads"][40:60]).all()
    reaction = next(stage for stage in stages if isinstance(stage, GroundReaction))
    assert reaction.counters[LOST] == 20


def test_who_is_not_whole_is_refused(whole: ModelSpec, person: Subject) -> None:
    """Protects from half a body: no trunk, one leg, or no mass, each in one sentence."""
    legs = both_legs()
    both = for_person(load_model("both_legs"), legs)
    with pytest.raises(ConfigError, match="needs trunk"):
        make_stages(RUN, both, legs, None, MASS_KG)
    with pytest.raises(ConfigError, match="needs both legs"):
        check_whole(msgspec.structs.replace(person, side="right"))
    with pytest.raises(ConfigError, match="mass of the person"):
        make_stages(RUN, whole, person, None, 0.0)
    early = msgspec.structs.replace(RUN, stages=("kinematics", "rates", "foot_contact"))
    with pytest.raises(ConfigError, match="ground_reaction"):
        make_stages(early, whole, person, None, MASS_KG)


def test_a_run_without_plates_is_made_ready(whole: ModelSpec, person: Subject) -> None:
    """Protects runs without plates: the mass is asked for, dynamics are compiled, plates may be absent."""
    assert weighs(RUN)
    assert "forces" in groups_of(RUN)
    stages = ("kinematics", "rates", "plates", "ground_reaction")
    run = msgspec.structs.replace(RUN, stages=stages)
    assert len(make_stages(run, whole, person, None, MASS_KG)) == 3
    with pytest.raises(ConfigError, match="force plates"):
        make_stages(msgspec.structs.replace(run, foot=FootSpec()), whole, person, None, MASS_KG)


def test_a_force_of_nothing_has_no_centre(stages: list[Stage]) -> None:
    """Protects flights: without a force there is no centre of pressure; with one it is where it acts."""
    reaction = next(stage for stage in stages if isinstance(stage, GroundReaction))
    reaction.force[:], place = (20.0, 500.0, -30.0), np.array([0.3, 0.1, -0.2])
    reaction.moment[:] = np.cross(place, reaction.force) + 5.0 * UP
    np.testing.assert_allclose(reaction.centre_on(0.1), place, atol=1e-12)
    reaction.force[:] = 0.0
    assert math.isnan(reaction.centre_on(0.0)[0])
