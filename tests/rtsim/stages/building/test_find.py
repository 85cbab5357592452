"""Stages by name: our own by folder, a user's own by an entry point, in plain Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.result_session import ResultSession
from rtsim.stages.building.find import REST, check_named, find_stage, make_stages, names_of, stage_names
from rtsim.stages.building.run_checks import check_run

STAGE = '''
"""Height of the knee, by a lab that needs it."""

import numpy as np

import msgspec

from rtsim.quantity import Quantity
from rtsim.stages.building.declaration import StageDeclaration
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.stage import FINE, Stage, StageCommand


class Options(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    sign: float = 1.0


class KneeHeight(Stage):
    def __init__(self, kinematics, sign=1.0):
        super().__init__()
        self.kinematics, self.height, self.sign = kinematics, np.zeros(1), sign
        self.orders = {"turn_over": StageCommand(lambda args: (True, "It is turned over."), self.turn)}

    def turn(self, args):
        self.sign = -self.sign
        return False

    def run(self, frame):
        self.n_frame += 1
        self.height[0] = self.sign * self.kinematics.estimator.outputs.points[2, 1]
        if self.height[0] < 0.0:
            self.count("under_ground", "The knee is below the ground.")
        return FINE

    def quantities(self):
        return [Quantity("knee_height", self.height, "m", ("knee",), meaning="above the ground")]


def make(setting):
    return KneeHeight(setting.before["kinematics"]) if "kinematics" in setting.before else None


def make_above(setting):
    return KneeHeight(setting.stage(Kinematics), setting.options.sign)


STAGE = StageDeclaration(make=make_above, needs=("rates",), options=Options)


number = 3


def broken():
    raise RuntimeError
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package with a stage `knee_height`, one that is a number, and one that is not there."""
    (tmp_path / "labs_own.py").write_text(STAGE, encoding="utf-8")
    info = tmp_path / "labs_own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: labs-own\nVersion: 1.0\n", encoding="utf-8")
    points = (
        "[rtsim.stages]\nknee_height = labs_own:make\nnumber = labs_own:number\nlost = labs_own:nothing\n"
        "knee_above = labs_own:STAGE\n"
    )
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("labs_own", None)


def test_a_stage_of_a_users_own_package_runs(package, spec, subject, session, trial, make_frame):
    """Protects labs that add a stage: found without a change of ours, its results, counts and orders told."""
    run = RunConfig(name="test", stages=("kinematics", "knee_height"))
    stages = make_stages(run, spec, subject)
    course = ResultSession(stages, session, {})
    result = course.run(make_frame(session, trial.positions[0]))
    data = course.message(make_frame(session, trial.positions[0]), result, 0, result.status).data
    (height,) = np.frombuffer(data["knee_height"])
    assert 0.3 < height < 0.7
    assert stages[1].orders["turn_over"].answer({}) == (True, "It is turned over.")
    stages[1].orders["turn_over"].apply({})
    course.run(make_frame(session, trial.positions[1], 1))
    counters, said = stages[1].collect()
    assert (counters["under_ground"], said) == (1, ["The knee is below the ground."])
    assert next(f for f in course.fields.session.fields if f.name == "knee_height").meaning


def test_a_stage_declares_what_it_needs_and_its_options(package, spec, subject):
    """Protects a stage that declares itself: its needs are looked for, its table is read and checked."""

    def made(*before: str, **table: object):
        options = {"knee_above": table} if table else {}
        run = RunConfig(name="test", stages=("kinematics", *before, "knee_above"), options=options)
        check_run(run, spec, of_model=False, forces=False)
        return make_stages(run, spec, subject)[-1].stage

    assert (made("rates").sign, made("rates", sign=-1.0).sign) == (1.0, -1.0)
    with pytest.raises(ConfigError, match=r"'knee_above' needs the stage 'rates' before it"):
        made()
    with pytest.raises(ConfigError, match=r"options.knee_above: .*unknown field `sing`; allowed: sign"):
        made("rates", sing=1.0)
    with pytest.raises(ConfigError, match=r"options.knee_above: key sign: .*float"):
        made("rates", sign="up")
    run = RunConfig(name="test", stages=("kinematics",), options={"knee_above": {}})
    with pytest.raises(ConfigError, match=r"the run has no stage 'knee_above'; allowed: kinematics"):
        check_run(run, spec, of_model=False, forces=False)
    run = RunConfig(name="test", options={"muscles": {"sign": 1}})
    with pytest.raises(ConfigError, match="'muscles' takes no options"):
        check_run(run, spec, of_model=False, forces=False)


def test_our_own_stages_are_found_by_folder():
    """Protects growth: a module in the folder that makes a stage is one, and what stands beside is none."""
    usual = [
        "kinematics",
        "progression",
        "conventional_angles",
        "muscles",
        "rates",
        "plates",
        "inverse_dynamics",
        "muscle_speeds",
    ]
    more = [
        "centre_of_mass", "electromyograms", "fdk", "foot_contact", "gait_phase", "ground_reaction",
        "recruitment", "sagittal", "torque_generators",
    ]  # fmt: skip
    assert stage_names() == sorted([*usual, *more])


def test_recruitment_that_cannot_be_is_told(spec, subject):
    """Protects whoever asks for activations: without plates there are none, and that is no silence."""
    with pytest.raises(ConfigError, match="muscle recruitment needs joint moments of inverse dynamics"):
        make_stages(RunConfig(name="test", recruitment=RecruitmentSpec()), spec, subject)


def test_what_cannot_be_is_told(package, spec, subject):
    """Protects the author of a run config: unknown, broken or misplaced stages, in a sentence."""
    with pytest.raises(ConfigError, match=r"unknown stage 'magic'; allowed: .*kinematics.*muscles"):
        find_stage("magic")
    with pytest.raises(ConfigError, match="unknown stage 'forward'"):  # a module without make
        find_stage("forward")
    with pytest.raises(ConfigError, match="the stage 'number' is neither a StageDeclaration nor a function"):
        find_stage("number")
    with pytest.raises(ConfigError, match="the stage 'lost' cannot be loaded"):
        find_stage("lost")
    with pytest.raises(ConfigError, match="'muscles' comes first; allowed: kinematics first"):
        check_named(("muscles", "kinematics"))
    with pytest.raises(ValueError, match="'muscles' occurs more than once"):
        RunConfig(name="test", stages=("kinematics", "muscles", "muscles"))


def test_the_usual_stages_stand_beside_those_that_a_run_names() -> None:
    """Protects gait phase and moments in one run: `usual` is all usual stages that the run does not name."""
    usual = ("kinematics", "muscles", "rates", "plates", "inverse_dynamics")
    assert names_of((), usual) == [*usual]
    assert names_of(("kinematics", "plates", "gait_phase", REST), usual) == [
        "kinematics", "plates", "gait_phase", "muscles", "rates", "inverse_dynamics",
    ]  # fmt: skip
    assert names_of(("kinematics",), usual) == ["kinematics"]
    run = load_run(find_config("gait", "runs"))
    names = names_of(run.stages, usual)
    assert names.index("gait_phase") < names.index("inverse_dynamics")
    check_named(run.stages)
    with pytest.raises(ConfigError, match="unknown stage 'gate_phase'"):
        check_named((*run.stages, "gate_phase"))
