"""The tables of result fields in docs/protocol.md are those of the quantities."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from kernels.compiler.jit import allow_compilation
from rtsim.config.models.marker_schema import Marker
from rtsim.config.models.model_tables import Element, MethodSpec, Reaction
from rtsim.config.models.muscle_schema import Hill
from rtsim.config.models.place_schema import Place
from rtsim.config.paths import find_config
from rtsim.config.runs.recruitment_schema import RecruitmentSpec
from rtsim.config.runs.run_schema import PlateUse, RunConfig, Uncertainty
from rtsim.live.inputs.recorded import RecordingInput
from rtsim.live.result_session import ResultSession
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.models.planar_body import planar_body
from rtsim.quantity import Fields
from rtsim.simulation.load import load_simulator
from rtsim.simulation.quantities import SimulatedQuantities
from rtsim.stages.building.find import make_stages
from rtsim.stages.kinematics import Kinematics
from rtsim.stages.muscles import MuscleLengths
from rtsim.subjects.anatomy import for_person
from rtsim.subjects.calibration.calibration import subject_for
from rtsim.subjects.made_up.walker import walk
from rtsim.subjects.made_up.walker_forces import MASS_KG, walker_forces
from rtsim.subjects.subject import load_subject
from streams.messages import FieldSpec, marker_session
from tests.rtsim.models import legs
from tests.rtsim.simulation.loose import MODEL
from tests.rtsim.stages.whole_person import whole_person
from tests.rtsim.subjects.conventional.persons import person

MARKED = """
name = "marked"
source = "made up"
[[bodies]]
name = "arm"
joint = "planar"
axes = [[1, 0, 0], [0, 1, 0]]
[[bodies]]
name = "hand"
parent = "arm"
joint = "universal"
axes = [[1, 0, 0], [0, 1, 0]]
[[muscles]]
name = "brachialis"
path = [{ segment = "ground", offset_mm = [0, 100, 0] }, { segment = "arm", offset_mm = [50, 0, 0] }]
[[markers]]
name = "A"
segment = "arm"
"""
HEAD = ("field", "shape", "unit", "frame", "parts", "meaning")
N_NAMED = 4
"""So many parts at the most are listed."""
TEXT = (Path(__file__).resolve().parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")


def table_of(fields: Iterable[FieldSpec]) -> list[str]:
    """Lines of a table in Markdown; an axis of labels is `n`, as it depends on the model."""
    rows = [HEAD, ("---",) * len(HEAD)]
    for spec in fields:
        first = "n" if spec.labels and spec.shape else ""
        shape = [first, *map(str, spec.shape[1:])] if first else [str(n) for n in spec.shape]
        parts = ", ".join(spec.parts)
        if len(spec.parts) > N_NAMED:
            shape[1], parts = "m", "labels of another field"
        rows.append((f"`{spec.name}`", f"[{', '.join(shape)}]", spec.unit, spec.frame, parts, spec.meaning))
    return [f"| {' | '.join(row)} |" for row in rows]


def estimated(folder: Path) -> Iterable[FieldSpec]:
    """Of the lower limb with its muscles."""
    spec, subject = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
    estimator = MultibodyEstimator(spec, subject, "minimised", uncertainty=Uncertainty())
    kinematics = Kinematics(estimator, subject)
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    return ResultSession([kinematics, MuscleLengths(kinematics)], session, {}).fields.session.fields


def progressing(folder: Path) -> Iterable[FieldSpec]:
    """What the direction of walking adds."""
    spec, subject = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
    run = RunConfig(name="test", method="zero", methods=("zero",), stages=("kinematics", "progression"))
    stages = make_stages(run, spec, subject)
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def conventional(folder: Path) -> Iterable[FieldSpec]:
    """What markers of the conventional gait model add."""
    subject = subject_for(person(source="walk.c3d", speed=0.02), person(), side="")
    run = RunConfig(
        name="test", method="zero", methods=("zero",), stages=("kinematics", "conventional_angles")
    )
    stages = make_stages(run, load_model("both_legs"), subject)
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def with_forces(folder: Path) -> Iterable[FieldSpec]:
    """What force plates and inverse dynamics add to these."""
    spec, subject = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
    trial = walk(spec, subject, 0.1)
    names = ("kinematics", "rates", "plates", "inverse_dynamics")
    run, feed = RunConfig(name="test", methods=("minimised",), stages=names), ForceFeed()
    stages = make_stages(run, spec, subject, feed, MASS_KG)
    source = RecordingInput(trial, forces=walker_forces(trial), feed=feed)
    every = ResultSession(stages, source.session, {}).fields.session.fields
    return every[len(ResultSession(stages[:1], source.session, {}).fields.session.fields) :]


def on_ground(folder: Path) -> Iterable[FieldSpec]:
    """What the contact of the feet adds."""
    spec, subject = load_model("lower_limb"), load_subject(find_config("walker", "subjects"))
    run = RunConfig(name="test", method="zero", stages=("kinematics", "rates", "plates", "foot_contact"))
    stages = make_stages(run, spec, subject, ForceFeed())
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def of_whole_body(folder: Path) -> Iterable[FieldSpec]:
    """What the ground does to a person whose trunk is marked."""
    subject = whole_person()
    names = ("kinematics", "rates", "plates", "ground_reaction")
    run = RunConfig(name="test", method="zero", methods=("zero",), stages=names)
    stages = make_stages(run, for_person(load_model("both_legs"), subject), subject, ForceFeed(), MASS_KG)
    session = marker_session(subject.marker_names, rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def of_own_markers(folder: Path) -> Iterable[FieldSpec]:
    """What only a model with markers of its own has, and what means another thing there."""
    path = folder / "marked.toml"
    path.write_text(MARKED, encoding="utf-8")
    spec = load_model(str(path))
    kinematics = Kinematics(MultibodyEstimator(spec, None, "default", uncertainty=Uncertainty()), None)
    session = marker_session(kinematics.reference_length.names, rate=100.0, t_start=0)
    fields = ResultSession([kinematics, MuscleLengths(kinematics)], session, {}).fields.session.fields
    usual = {spec.name: spec.meaning for spec in estimated(folder)}
    return [spec for spec in fields if usual.get(spec.name) != spec.meaning]


def own_with_forces(folder: Path) -> Iterable[FieldSpec]:
    """What force plates add to a model with markers of its own, other than to persons."""
    spec, names = legs.load(folder), ("kinematics", "rates", "plates", "inverse_dynamics", "muscle_speeds")
    run, feed = RunConfig(name="test", stages=names), ForceFeed()
    stages = make_stages(run, spec, None, feed, 1.0)
    session = marker_session([marker.name for marker in spec.markers], rate=100.0, t_start=0)
    usual = {field.name: field.meaning for field in (*with_forces(folder), *of_own_markers(folder))}
    fields = ResultSession(stages, session, {}).fields.session.fields
    known = {field.name for field in estimated(folder)}
    return [field for field in fields if field.name not in known and usual.get(field.name) != field.meaning]


def recruited(folder: Path) -> Iterable[FieldSpec]:
    """What recruitment of its muscles adds to that."""
    spec, names = legs.load(folder), ("kinematics", "rates", "plates", "inverse_dynamics", "recruitment")
    strong = tuple(
        msgspec.structs.replace(muscle, hill=Hill(1000.0, 100.0, 300.0)) for muscle in spec.muscles
    )
    reserves = RecruitmentSpec(reserves={"knee_r": 10.0})
    run = RunConfig(name="test", stages=names, recruitment=reserves)
    stop = Element("stop", "distance", Place("upper_r"), Place("lower_r"), target_mm=430.0)
    spec = msgspec.structs.replace(
        spec,
        muscles=strong,
        elements=(stop,),
        reactions=(Reaction("end", "stop", 1e4),),
        methods={"default": MethodSpec(hard=("stop",))},
    )
    stages = make_stages(run, spec, None, ForceFeed(), 1.0)
    session = marker_session([marker.name for marker in spec.markers], rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def turned(folder: Path) -> Iterable[FieldSpec]:
    """What torque generators add to a model with markers of its own and inverse dynamics."""
    spec, names = planar_body("male", 80.0, 1800.0), ("kinematics", "rates", "plates", "inverse_dynamics")
    marker = msgspec.convert({"name": "A", "segment": "pelvis"}, Marker)
    spec = msgspec.structs.replace(spec, markers=(marker,))
    borne = PlateUse(borne_by={"plate": {"foot_r": 1.0}})
    run = RunConfig(name="test", stages=(*names, "torque_generators"), plates=borne)
    stages = make_stages(run, spec, None, ForceFeed(), 80.0)
    session = marker_session(["A"], rate=100.0, t_start=0)
    known = {field.name for field in ResultSession(stages[:-1], session, {}).fields.session.fields}
    return [one for one in ResultSession(stages, session, {}).fields.session.fields if one.name not in known]


def simulated(folder: Path) -> Iterable[FieldSpec]:
    """Of a model that has a thing of every kind."""
    path = folder / "loose.toml"
    path.write_text(MODEL, encoding="utf-8")
    simulator = load_simulator(str(path))
    told = SimulatedQuantities(simulator, simulator.trace(1), simulator.work.dynamics.pose)
    return Fields(told.quantities, 0.0, 0, {}).session.fields


@pytest.mark.parametrize(
    "fields",
    [
        estimated,
        progressing,
        conventional,
        with_forces,
        on_ground,
        of_whole_body,
        of_own_markers,
        own_with_forces,
        recruited,
        turned,
        simulated,
    ],
)
def test_the_table_is_in_the_document(fields, tmp_path):
    """Protects strangers who write a client from the document: every field of a frame, as it is."""
    allow_compilation()
    table = "\n".join(table_of(fields(tmp_path)))
    assert table in TEXT, table
