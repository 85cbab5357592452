"""What a model with markers of its own follows: weights, drawn coordinates, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.joints.tree import new_pose, pose
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.files.markers.trial import MarkerTrial
from rtsim.files.model_toml import model_text
from rtsim.files.osim.model import read_osim
from rtsim.files.osim.setup_ik import IkSetup, read_ik_setup
from rtsim.files.osim.setup_scale import Placer
from rtsim.files.osim.tasks import CoordinateTask, IkTasks
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.methods.kinematics.scaling import coordinate_goals
from rtsim.methods.muscles.moment_arms import arms_of
from rtsim.models.following import TrackingTasks, following_of
from rtsim.models.load import load_model
from tests.rtsim.files.osim_texts import Coordinate, Joint, Model

Array = NDArray[np.float64]

ARM = {
    "name": "arm",
    "source": "made up",
    "bodies": [
        {"name": "upper", "joint": "hinge", "axis": [0, 0, 1], "coordinates": [{"name": "raise"}]},
        {
            "name": "lower",
            "parent": "upper",
            "joint": "hinge",
            "axis": [0, 0, 1],
            "in_parent": {"offset_mm": [0, -300, 0]},
            "coordinates": [{"name": "bend", "neutral_deg": 20, "range_deg": [0, 90], "clamped": True}],
        },
    ],
    "markers": [
        {"name": "U1", "segment": "upper", "offset_mm": [30, -100, 0]},
        {"name": "U2", "segment": "upper", "offset_mm": [-20, -250, 40], "weight": 3.0},
        {"name": "L1", "segment": "lower", "offset_mm": [30, -100, 0]},
        {"name": "L2", "segment": "lower", "offset_mm": [0, -280, 20]},
    ],
}
TASK = "<{kind} name='{name}'><apply>true</apply><weight>{weight}</weight>{more}</{kind}>"


@pytest.fixture
def arm() -> ModelSpec:
    return check_record(ARM, ModelSpec, "the test's model")


def setup(tmp_path: Path, *tasks: tuple[str, str, float, str], more: str = "") -> IkSetup:
    """A setup file with tasks (kind, name, weight, other elements), read."""
    text = "".join(TASK.format(kind=k, name=n, weight=w, more=x) for k, n, w, x in tasks)
    path = tmp_path / "setup.xml"
    path.write_text(
        '<OpenSimDocument Version="40000"><InverseKinematicsTool name="t"><IKTaskSet><objects>'
        f"{text}</objects></IKTaskSet>{more}</InverseKinematicsTool></OpenSimDocument>"
    )
    return read_ik_setup(path)


def placed(estimator: MultibodyEstimator, angles: tuple[float, float]) -> Array:
    """(n_marker, 3) m - the model's markers in ground."""
    model = estimator.model
    work = new_pose(len(model.names.bodies), model.n_v, len(model.tree.chains.dof))
    q = model.q_neutral.copy()
    q[model.coordinates.q] = angles
    pose(model.tree, q, work)
    rows = zip(model.markers.body, model.markers.position, strict=True)
    return np.array([work.position[b] + work.rotation[b] @ x for b, x in rows])


def solved(arm: ModelSpec, following: TrackingTasks | None, measured: Array) -> MultibodyEstimator:
    estimator = MultibodyEstimator(arm, None, "default", following=following)
    assert estimator.estimate(measured, 0.0).converged
    return estimator


def cost(arm: ModelSpec, following: TrackingTasks, measured: Array, angles: tuple[float, float]) -> float:
    """The objective as it is written: weights of markers divided by their sum, those of coordinates not."""
    estimator = MultibodyEstimator(arm, None, "default", following=following)
    gap = placed(estimator, angles) - measured
    w = np.array([*following.markers.values()])
    seen = np.isfinite(measured).all(axis=1)
    total = float(w[seen] @ np.sum(gap[seen] ** 2, axis=1)) / float(w[seen].sum())
    for drawn in following.coordinates:
        total += drawn.weight * (angles[("raise", "bend").index(drawn.name)] - drawn.values[0]) ** 2
    return total


@pytest.mark.parametrize("hidden", [None, 0])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_pose_minimises_the_objective(arm: ModelSpec, scale: float, hidden: int | None) -> None:
    """Protects the weights: a minimum of the sum as written, whatever all markers weigh together."""
    from rtsim.models.following import TargetedCoordinate

    tasks = (TargetedCoordinate("raise", 0.02, np.zeros(1), np.array([0.1])),)
    following = TrackingTasks({"U1": scale, "U2": 3.0 * scale, "L1": scale, "L2": 0.5 * scale}, tasks)
    measured = placed(MultibodyEstimator(arm, None, "default"), (0.6, 0.9))
    measured += 0.01 * np.random.default_rng(4).normal(size=measured.shape)
    if hidden is not None:
        measured[hidden] = np.nan
    q = solved(arm, following, measured).q
    least = cost(arm, following, measured, (q[0], q[1]))
    assert 0.1 < q[0] < 0.6
    for step in ((1e-4, 0.0), (-1e-4, 0.0), (0.0, 1e-4), (0.0, -1e-4)):
        assert cost(arm, following, measured, (q[0] + step[0], q[1] + step[1])) > least


def test_a_clamped_coordinate_stays_in_its_range(arm: ModelSpec) -> None:
    """Protects elbows from bending backwards."""
    measured = placed(MultibodyEstimator(arm, None, "default"), (0.2, -0.5))
    assert solved(arm, None, measured).q[1] == 0.0


def test_a_setup_says_which_markers_and_how_much(arm: ModelSpec, tmp_path: Path) -> None:
    """Protects the weights of a setup: markers without a task take no part, unknown ones are told."""
    found = following_of(arm, setup(
        tmp_path, ("IKMarkerTask", "L2", 2.0, ""), ("IKMarkerTask", "U1", 1.0, ""),
        ("IKMarkerTask", "U2", 0.0, ""), ("IKMarkerTask", "Head", 1.0, ""),
        ("IKCoordinateTask", "bend", 5.0, "<value_type>manual_value</value_type><value>0.3</value>"),
        ("IKCoordinateTask", "raise", 0.0, ""),
    ))  # fmt: skip
    assert dict(found.markers) == {"U1": 1.0, "L2": 2.0}
    assert [(d.name, d.weight, d.at(7.0)) for d in found.coordinates] == [("bend", 5.0, 0.3)]
    assert any("Head" in note for note in found.notes)
    assert MultibodyEstimator(arm, None, "default", following=found).model.names.markers == ("U1", "L2")
    assert dict(following_of(arm).markers) == {"U1": 1.0, "U2": 3.0, "L1": 1.0, "L2": 1.0}


def test_a_coordinate_is_drawn_along_a_file(arm: ModelSpec, tmp_path: Path) -> None:
    """Protects tasks from a coordinate file: degrees, in proportion between times, then the ends."""
    (tmp_path / "motion.mot").write_text("m\ninDegrees=yes\nendheader\ntime\tbend\n0\t10\n1\t30\n")
    found = following_of(arm, setup(
        tmp_path, ("IKMarkerTask", "U1", 1.0, ""),
        ("IKCoordinateTask", "bend", 1e6, "<value_type>from_file</value_type>"),
        more="<coordinate_file>motion.mot</coordinate_file>",
    ))  # fmt: skip
    (drawn,) = found.coordinates
    np.testing.assert_allclose(np.degrees([drawn.at(t) for t in (-1.0, 0.5, 2.0)]), [10.0, 20.0, 30.0])
    estimator = MultibodyEstimator(arm, None, "default", following=found)
    measured = placed(estimator, (0.2, 0.5))
    for time in (0.0, 0.5):
        estimator.aim(time)
        estimator.estimate(measured, 0.0)
        assert np.degrees(estimator.q[1]) == pytest.approx(10.0 + 20.0 * time, abs=1e-6)


def test_a_coupled_coordinate_is_drawn_to_the_default_of_its_file(tmp_path: Path) -> None:
    """Protects default_value tasks: p = q with a default of 0.5 for p is drawn there, as by OpenSim 4.6."""
    joints = tuple(
        Joint("PinJoint", "ground", body, (Coordinate(name, default),))
        for body, name, default in (("a", "q", 0.0), ("b", "p", 0.5))
    )
    coupler = (
        "<CoordinateCouplerConstraint name='k'><coupled_coordinates_function><LinearFunction><coefficients>"
        "1 0</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>q"
        "</independent_coordinate_names><dependent_coordinate_name>p</dependent_coordinate_name>"
        "</CoordinateCouplerConstraint>"
    )
    marker = (
        "<MarkerSet><objects><Marker name='m'><socket_parent_frame>/bodyset/a</socket_parent_frame><location>"
        "0.1 0 0</location></Marker></objects></MarkerSet>"
    )
    path = tmp_path / "coupled.osim"
    path.write_text(Model(joints, constraints=coupler, more=marker).text(40600))
    spec = read_osim(path)[0]
    tasks = ("IKMarkerTask", "m", 1.0, ""), ("IKCoordinateTask", "p", 1000.0, "")
    found = following_of(spec, setup(tmp_path, *tasks))
    assert found.coordinates[0].at(0.0) == pytest.approx(0.5)
    written = tmp_path / "coupled.toml"
    written.write_text(model_text(spec))
    assert following_of(load_model(str(written)), setup(tmp_path, *tasks)).coordinates == found.coordinates
    task = CoordinateTask("p", 7.0, "default_value", 0.0)
    placer = Placer(IkTasks({}, (task,)), None, None, (0.0, 1.0), -1.0)
    trial = MarkerTrial(("m",), np.zeros(1), np.zeros((1, 1, 3)), 100.0, "made up")
    assert coordinate_goals(placer, spec, arms_of(spec), trial, print) == {"p": (pytest.approx(0.5), 7.0)}


def test_a_coordinate_file_in_milliseconds_is_told(arm: ModelSpec, tmp_path: Path) -> None:
    """Protects from a coordinate that stays at its first value: what its file has to say is told, once."""
    tasks = (
        ("IKMarkerTask", "U1", 1.0, ""),
        ("IKCoordinateTask", "bend", 1.0, "<value_type>from_file</value_type>"),
        ("IKCoordinateTask", "raise", 1.0, "<value_type>from_file</value_type>"),
    )  # fmt: skip
    for step, told in ((10.0, 1), (0.01, 0)):
        rows = "".join(f"{step * k}\t10\t20\n" for k in range(4))
        (tmp_path / "motion.mot").write_text(f"m\ninDegrees=yes\nendheader\ntime\tbend\traise\n{rows}")
        found = following_of(
            arm, setup(tmp_path, *tasks, more="<coordinate_file>motion.mot</coordinate_file>")
        )
        said = [note for note in found.notes if "motion.mot: the times increase by" in note]
        assert len(said) == told


def test_a_coupled_coordinate_of_a_file_is_in_radians(arm: ModelSpec, tmp_path: Path) -> None:
    """Protects coordinate files of OpenSim: one of its motion type Coupled is not in degrees there."""
    (tmp_path / "motion.mot").write_text("m\ninDegrees=yes\nendheader\ntime\tbend\n0\t0.1\n1\t0.3\n")
    replace = msgspec.structs.replace
    bodies = tuple(
        replace(body, coordinates=tuple(replace(c, coupled=c.name == "bend") for c in body.coordinates))
        for body in arm.bodies
    )
    found = following_of(replace(arm, bodies=bodies), setup(
        tmp_path, ("IKMarkerTask", "U1", 1.0, ""),
        ("IKCoordinateTask", "bend", 1.0, "<value_type>from_file</value_type>"),
        more="<coordinate_file>motion.mot</coordinate_file>",
    ))  # fmt: skip
    assert found.coordinates[0].at(0.5) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ((("IKMarkerTask", "Head", 1.0, ""),), ("Head", "U1, U2, L1, L2", "belongs to the model")),
        ((("IKCoordinateTask", "bend", 1.0, ""),), ("no task for a marker",)),
        ((("IKMarkerTask", "U1", 0.0, ""),), ("all tasks of markers of the model arm have weight 0",)),
        ((("IKMarkerTask", "U1", 1.0, ""), ("IKCoordinateTask", "knee", 1.0, "")), ("'knee'", "raise, bend")),
    ],
)
def test_another_setup_is_refused(arm: ModelSpec, tmp_path: Path, tasks: tuple, words: tuple) -> None:
    """Protects from a fit to nothing: one sentence with what there is."""
    with pytest.raises(ConfigError) as told:
        following_of(arm, setup(tmp_path, *tasks), "setup.xml")
    assert all(word in str(told.value) for word in (*words, "setup.xml")), str(told.value)


def test_a_model_without_markers_or_weights_is_refused(arm: ModelSpec) -> None:
    """Protects from a run that could follow nothing."""
    with pytest.raises(ConfigError, match="has no markers"):
        following_of(msgspec.structs.replace(arm, markers=()))
    idle = tuple(msgspec.structs.replace(marker, weight=0.0) for marker in arm.markers)
    with pytest.raises(ConfigError, match="weight 0"):
        following_of(msgspec.structs.replace(arm, markers=idle))
