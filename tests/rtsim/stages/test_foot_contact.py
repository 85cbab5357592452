"""The stage of the feet on the ground: the walker on its plate, without plates, and what cannot be."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.foot_schema import FootSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.compiled.group_table import groups_of
from rtsim.live.result_session import ResultSession
from rtsim.stages.building.find import make_stages
from rtsim.stages.foot_contact import UNCOVERED, FootContacts
from rtsim.stages.rates import stated
from rtsim.subjects.markers.labs import load_lab

Array = np.ndarray

RUN = RunConfig(name="test", method="zero", stages=("kinematics", "rates", "foot_contact"))


def frames_of(course, trial, session, make_frame, n):
    """Return what the stage says in n frames: arrays by field."""
    told = []
    for k in range(n):
        frame = make_frame(session, trial.positions[k], k)
        result = course.run(frame)
        data = course.message(frame, result, k, result.status).data
        told.append({name: np.frombuffer(data[name]).copy() for name in data if name.startswith("foot_")})
    return told


def test_without_plates_the_markers_tell_the_height(spec, subject, session, trial, make_frame):
    """Protects the stage by itself: NaN until the filter has settled, then the right foot alone."""
    run = msgspec.structs.replace(RUN, foot=FootSpec(ground_mm=40.0))
    course = ResultSession(make_stages(run, spec, subject), session, {})
    told = frames_of(course, trial, session, make_frame, 100)
    assert np.isnan(told[0]["foot_contact_loads"]).all()
    last = np.array([frame["foot_contact_loads"] for frame in told[30:]])
    assert np.isfinite(last[:, 0]).all()
    assert np.isnan(last[:, 1]).all()
    loaded = max(told[30:], key=lambda frame: frame["foot_contact_loads"][0])
    cell = 7.5e-3 * 9.0e-3
    pressure = loaded["foot_pressure"].reshape(2, 39, 16)
    assert loaded["foot_contact_loads"][0] > 0.0
    assert cell * pressure[0].sum() == pytest.approx(loaded["foot_contact_loads"][0], rel=0.03)
    assert loaded["foot_contact_normals"][:3].sum() == pytest.approx(
        loaded["foot_contact_loads"][0], rel=1e-9
    )


def test_what_it_publishes_is_told(spec, subject, session):
    """Protects the descriptor: an image with its cells, and the size of the foot."""
    course = ResultSession(make_stages(RUN, spec, subject), session, {})
    field = next(f for f in course.fields.session.fields if f.name == "foot_pressure")
    assert tuple(field.shape) == (2, 39, 16)
    assert (field.image.along, field.image.across) == (7.5, 9.0)
    assert 0.8 < course.fields.session.meta["foot"]["size"]["right"] < 1.2


class Slope:
    """What stands in for plates: a plane, a force on it, and the foot that bears it."""

    def __init__(self) -> None:
        self.bearers = ("foot_r", "foot_l")
        self.force, self.moment = np.tile([60.0, 400.0, 20.0], (2, 1)), np.zeros((2, 3))
        self.normal = np.array([np.sin(0.1), np.cos(0.1), 0.0])
        self.borne = True

    def bearer_with(self, markers: object, side: str) -> int:
        return 0

    def plane_under(self, foot: int) -> tuple[Array, Array] | None:
        return (np.array([0.0, 0.3, 0.0]), self.normal) if self.borne else None


def test_a_plate_of_any_slope_presses_along_its_normal(spec, subject, session, trial, make_frame):
    """Protects planes of plates: the foot bears what the force has along the normal, not the vertical, and
    the plate is under the filtered foot, a delay behind, when the foot has just left it.
    """
    kinematics, rates = make_stages(msgspec.structs.replace(RUN, stages=RUN.stages[:2]), spec, subject)
    plates, lab = Slope(), load_lab("walker")
    feet = FootContacts(FootSpec(level="plates", grid=(5, 5)), rates, plates, lab, subject)
    course = ResultSession([kinematics, rates, feet], session, {})
    told = frames_of(course, trial, session, make_frame, 60)
    assert told[-1]["foot_contact_normals"][:3].sum() == pytest.approx(
        float(plates.normal @ plates.force[0]), rel=1e-3
    )
    assert UNCOVERED in feet.sentences
    plates.borne = False
    delay = stated(rates.spec, 100.0).delay_s[0]
    heights = []
    for k in range(60, 75):
        frame = make_frame(session, trial.positions[k], k)
        course.run(frame)
        feet.report()
        heights.append(float(feet._centre[0] @ plates.normal - 0.3 * plates.normal[1]))
    kept = int(delay * 100.0 + 1e-6)
    assert kept > 2
    assert np.abs(heights[:kept]).max() < 1e-9
    assert np.abs(heights[kept + 1 :]).min() > 0.1


def test_plates_that_are_not_there_cannot_tell_the_height(spec, subject):
    """Protects from a level by plates in a run without any: one sentence, before the run."""
    run = msgspec.structs.replace(RUN, foot=FootSpec(level="plates"))
    with pytest.raises(ConfigError, match="force plates"):
        make_stages(run, spec, subject)


def test_the_shipped_run_compiles_what_it_calls():
    """Protects a first start: the kernels of the feet are compiled ahead."""
    run = load_toml(find_config("foot", "runs"), dict)
    assert run["stages"][-1] == "foot_contact"
    assert "foot" in groups_of(RUN)


def test_centres_are_compared_along_and_across_the_foot(spec, subject, session, trial, make_frame):
    """Protects the signs of errors beside plates: towards the toes, to the right; NaN of plates that bear
    next to nothing."""
    stages = make_stages(RUN, spec, subject)
    frames_of(ResultSession(stages, session, {}), trial, session, make_frame, 40)
    feet = stages[-1]
    forward = feet._followed.place.rotation[0, :, 0] * [1.0, 0.0, 1.0]
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    feet._centre[0] = [0.3, 0.04, -0.1]
    place, force = feet._centre[0] - 0.03 * forward + 0.01 * right, np.array([10.0, 400.0, -20.0])
    wrench = np.concatenate([np.cross(place, force), force])
    np.testing.assert_allclose(feet._away(0, wrench), [0.03, -0.01], atol=1e-12)
    assert np.isnan(feet._away(0, 0.1 * wrench)).all()
