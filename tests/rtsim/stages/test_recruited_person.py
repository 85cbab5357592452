"""Recruitment of a person's muscles on force plates: the run `recruited` through the loop."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.models.joint_schema import Body
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.recorded import KeptResults, RecordingInput
from rtsim.live.loop import Loop
from rtsim.methods.fdk.fdk_borne import worked_on
from rtsim.methods.muscles.moment_arms import MomentArms
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.stages.building.find import make_stages
from rtsim.stages.building.run_checks import check_run
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject
from streams.messages import Status

pytestmark = pytest.mark.own_kernels

RUN = load_run(find_config("recruited", "runs"))
SPEC, SUBJECT = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))


@pytest.fixture(autouse=True)
def _permitted() -> None:
    allow_compilation()


def recruited(run: RunConfig = RUN, seconds: float = 1.6):
    """Results of the walker's leg, and sentences that were told."""
    trial, feed, kept = walk(SPEC, SUBJECT, seconds), ForceFeed(), KeptResults()
    stages = make_stages(run, SPEC, SUBJECT, feed, MASS_KG)
    Loop(RecordingInput(trial, lambda n: None, walker_forces(trial), feed), stages, kept, {}).run()
    found = kept.results()
    assert found is not None
    return found, kept.sentences, stages


def with_keys(**keys: object) -> RunConfig:
    """The run with other keys."""
    return msgspec.structs.replace(RUN, **keys)


def test_muscles_of_a_person_make_the_moments() -> None:
    """Protects the chain from markers and plates to muscles: about a hinge at the knee they do what inverse
    dynamics asks for, within what filtering the pose and filtering the markers differ by.
    """
    found, sentences, stages = recruited(with_keys(method="hinge", methods=("hinge",)))
    fields, settled = found.fields, np.flatnonzero(found.times > 0.3)
    assert np.isfinite(fields["muscle_forces"][settled]).all()
    assert not any("cannot balance the whole load" in sentence for sentence in sentences)
    model, roles, *_ = stages[0].estimator.placed_by("hinge")
    acting = [model.names.muscles.index(name) for name in stages[-1].balanced.acting]
    arms, length = MomentArms(model, roles), np.zeros(len(model.names.muscles))
    arm, made = np.zeros((len(length), len(model.names.angles))), []
    hinge = model.names.angles.index("shank")
    for k in settled:
        arms.measure(fields["coordinates"][k], length, arm)
        made.append(fields["muscle_forces"][k] @ arm[acting, hinge])
    bends = np.polyfit(fields["coordinates"][settled, model.coordinates.q[hinge]], knee_flexion(found), 1)[0]
    asked = np.sign(bends) * fields["joint_moments"][settled, 3]
    assert np.abs(asked).max() > 50.0
    assert np.abs(np.array(made) - asked).max() < 0.01 * np.abs(asked).max()


def knee_flexion(found) -> np.ndarray:
    """Of frames whose filter has settled [rad]."""
    return found.fields["joint_angles"][found.times > 0.3, 3]


def test_the_shipped_run_bears_the_walkers_leg() -> None:
    """Protects the run as it is shipped: isometric ligaments hold the knee, everything is borne."""
    found, sentences, _ = recruited()
    activations = found.fields["muscle_activations"][found.times > 0.3]
    assert ((activations >= 0.0) & (activations <= 1.0)).all()
    assert not any("cannot balance the whole load" in sentence for sentence in sentences)


def test_what_muscles_cannot_bear_is_named() -> None:
    """Protects a knee that nothing holds: frames are degraded, and the freedoms that lack most are told."""
    found, sentences, _ = recruited(with_keys(method="free", methods=("free",)), seconds=0.6)
    assert any(re.search(r"what remains unbalanced: shank_y -\d\S* N, ", sentence) for sentence in sentences)
    assert (found.status[-10:] & Status.DEGRADED).all()


def test_bodies_that_nothing_works_on_need_not_be_borne() -> None:
    """Protects persons with a marked trunk, which no muscle of the legs reaches, from being never borne."""
    jaw = load_model("mandible")
    trunk = msgspec.convert({"name": "trunk", "parent": "skull", "joint": "ball"}, Body)
    spec = msgspec.structs.replace(jaw, bodies=(*jaw.bodies, trunk))
    model, roles = build(spec, method="pop"), roles_of(spec, "pop")
    assert model.names.bodies == ("skull", "mandible", "trunk")
    assert worked_on(model, roles, ()) == ("mandible",)
    assert worked_on(model, roles, ("trunk_turn_x",)) == ("mandible", "trunk")


def test_soft_elements_are_no_joint() -> None:
    """Protects from loads that nobody bears: a method with soft ligaments is refused before anything runs."""
    run = with_keys(method="minimised", methods=("minimised",))
    with pytest.raises(ConfigError, match=r"ACL, PCL, MCL, LCL as soft .* give --method zero"):
        check_run(run, SPEC, of_model=False, forces=True)
    check_run(RUN, SPEC, of_model=False, forces=True)
    with pytest.raises(ConfigError, match="give --forces"):
        check_run(RUN, SPEC, of_model=False, forces=False)
