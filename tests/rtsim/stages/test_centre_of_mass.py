"""The stage of the centre of mass: against the segments one by one, its mirror image, and without masses."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.result_session import ResultSession
from rtsim.stages.building.find import find_stages, make_stages
from rtsim.stages.centre_of_mass import masses_of

RUN = RunConfig(name="test", stages=("kinematics", "centre_of_mass"))


@pytest.fixture
def weighed(subject):
    """The subject with a mass."""
    return msgspec.structs.replace(subject, mass_kg=70.0)


def centre_of(course, frame):
    """Return what a frame says of the centre of mass (3,) [m]."""
    result = course.run(frame)
    return np.frombuffer(course.message(frame, result, 0, result.status).data["centre_of_mass"])


def test_it_is_the_mean_of_the_segments_by_mass(spec, weighed, session, trial, make_frame):
    """Protects the definition, segment by segment, and the mass that the descriptor tells."""
    stages = make_stages(RUN, spec, weighed)
    course = ResultSession(stages, session, {})
    found = centre_of(course, make_frame(session, trial.positions[0]))
    mass, centre = masses_of(spec, weighed)
    assert mass.sum() == pytest.approx(70.0 * 0.32, abs=6.0)  # a pelvis, a thigh, a shank, a foot
    position, rotation = stages[0].estimator.pose
    wanted = sum(m * (x + R @ c) for m, x, R, c in zip(mass, position, rotation, centre, strict=True))
    np.testing.assert_allclose(found, wanted / mass.sum(), rtol=1e-12)
    field = next(f for f in course.fields.session.fields if f.name == "centre_of_mass")
    assert f"{mass.sum():.1f} kg" in field.meaning


def test_a_frame_without_a_pose_has_none(spec, weighed, session, trial, make_frame):
    """Protects from the centre of an earlier frame where the newest is unusable."""
    course = ResultSession(make_stages(RUN, spec, weighed), session, {})
    assert np.isfinite(centre_of(course, make_frame(session, trial.positions[0]))).all()
    absurd = trial.positions[1] * 1e9
    assert np.isnan(centre_of(course, make_frame(session, absurd, 1))).all()


@pytest.mark.parametrize("stated", [None, 60.0])
def test_the_mass_of_the_run_is_used(spec, subject, session, stated):
    """Protects --mass: it is enough, and replaces the mass of the subject's file as in inverse dynamics."""
    own = msgspec.structs.replace(subject, mass_kg=stated)
    stages = make_stages(RUN, spec, own, mass_kg=80.0)
    assert stages[1].total == pytest.approx(masses_of(spec, own, 80.0)[0].sum())
    assert stages[1].total == pytest.approx(80.0 * 0.32, abs=7.0)
    assert find_stages(RUN.stages)["centre_of_mass"].weighs


def test_without_any_mass_it_says_so(spec, subject):
    """Protects from the centre of nothing: neither the model's file nor the subject's has a mass."""
    bare = msgspec.structs.replace(subject, mass_kg=None)
    with pytest.raises(ConfigError, match="the body mass is not known"):
        make_stages(RUN, spec, bare)
