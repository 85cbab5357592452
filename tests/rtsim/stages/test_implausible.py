"""Angles that no joint reaches: flagged, by name, on either side, and never on clean recordings."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.damage.persons import RecordedPerson
from benchmarks.damage.solving import solve
from kernels.compiler.jit import allow_compilation
from rtsim.config.load import check_record
from rtsim.config.models.model_schema import ModelSpec
from rtsim.errors import ConfigError
from rtsim.live.result_session import ResultSession
from rtsim.methods.kinematics.multibody import MultibodyEstimator
from rtsim.models.load import load_model
from rtsim.stages.kinematics import BEYOND, HELD_AT_END, PASSED, Kinematics
from rtsim.subjects.both_sides import symmetric
from rtsim.subjects.made_up.walker import walk
from streams.messages import Status, marker_session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.stages.solving import Solved, Solving
from tests.rtsim.subjects.recordings import DATA, METHODS, RECORDINGS

Array = NDArray[np.float64]

N_FRAME, LAST_DEG = 60, 90.0
PENDULUM = {
    "name": "pendulum",
    "source": "made up",
    "bodies": [
        {"name": "arm", "joint": "hinge", "axis": [0, 0, 1],
         "coordinates": [{"name": "raise", "range_deg": [-20, 40]}]},
    ],
    "markers": [
        {"name": "A", "segment": "arm", "offset_mm": [30, -100, 0]},
        {"name": "B", "segment": "arm", "offset_mm": [-20, -250, 40]},
        {"name": "C", "segment": "arm", "offset_mm": [60, -200, -40]},
    ],
}  # fmt: skip


def bent(estimator: MultibodyEstimator, positions: Array, suffix: str = "") -> Array:
    """(N_FRAME, n_marker, 3) - a frame whose shank and foot turn forwards about the knee, up to LAST_DEG."""
    assert estimator.estimate(positions, 0.0).converged
    bodies = estimator.model.names.bodies
    own = [bodies.index(f"{name}{suffix}") for name in ("shank", "foot")]
    rows = np.flatnonzero(np.isin(estimator.model.markers.body, own))
    knee = estimator.pose[0][own[0]].copy()
    estimator.restart()
    frames = np.repeat(positions[None], N_FRAME, axis=0)
    for k, angle in enumerate(np.linspace(0.0, np.radians(LAST_DEG), N_FRAME)):
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        frames[k, rows] = (positions[rows] - knee) @ turn.T + knee
    return frames


def angles_of(frame: Solved) -> tuple[Array, Array]:
    """Angles [deg] and which of them are marked."""
    return (
        np.degrees(np.frombuffer(frame.data["joint_angles"])),
        np.frombuffer(frame.data["joint_angles_implausible"]),
    )


@pytest.mark.parametrize("suffix", ["", "_r", "_l"])
def test_a_knee_that_is_bent_forwards_is_implausible(suffix, subject, make_frame) -> None:
    """Protects from poses that fit their markers and that no knee has, on every side; which angle is told."""
    allow_compilation()
    person, spec = (
        (symmetric(subject), load_model("both_legs")) if suffix else (subject, load_model("lower_limb"))
    )
    estimator = MultibodyEstimator(spec, person, "free")
    frames = bent(estimator, walk(spec, person, 0.01).positions[0], suffix)
    session = marker_session(person.marker_names, rate=100.0, t_start=0)
    solving = Solving(spec, estimator, person, session)
    name = f"knee_flexion{suffix}"
    knee = estimator.model.names.joint_angles.index(name)
    low = solving.fields.session.meta["ranges_deg"][name][0]
    n_out = 0
    for k, x in enumerate(frames):
        frame = solving.solve(make_frame(session, x, k))
        angles, outside = angles_of(frame)
        out = angles[knee] < low - 0.5
        n_out += out
        assert bool(frame.status & Status.IMPLAUSIBLE) == out
        assert outside[knee] == float(out)
        assert outside.sum() == float(out)
    assert 10 < n_out < N_FRAME
    counters, told = solving.kinematics.collect()
    assert counters[BEYOND] == n_out
    assert any(f"implausible [deg]: {name} -3" in sentence for sentence in told)


def test_frames_that_are_not_solved_are_not_judged(make_solving, make_frame, session, trial) -> None:
    """Protects from judging the frame before: what cannot be a person is invalid, and nothing else."""
    solving = make_solving()
    frame = solving.solve(make_frame(session, 1e3 * trial.positions[0]))
    assert frame.status == Status.INVALID_INPUT
    assert angles_of(frame)[1].sum() == 0.0


@pytest.mark.parametrize("clamped", [False, True])
def test_coordinates_of_other_models_have_the_range_of_their_file(clamped: bool, make_frame) -> None:
    """Protects models of their own: outside the file's range is told; a clamped one stays inside, and is told
    where the markers press it against its end."""
    allow_compilation()
    (body,) = PENDULUM["bodies"]
    (raised,) = body["coordinates"]
    bodies = [{**body, "coordinates": [{**raised, "clamped": clamped}]}]
    spec = check_record({**PENDULUM, "bodies": bodies}, ModelSpec, "the test's model")
    solving = Swing(spec)
    assert solving.fields.session.meta["ranges_deg"] == {"raise": [-20.0, 40.0]}
    for k, degrees in enumerate((0.0, 20.0, 39.9, 60.0, 30.0)):
        frame = solving.solve(make_frame(solving.session, solving.at(degrees), k))
        out = degrees > 40.0
        assert bool(frame.status & Status.IMPLAUSIBLE) == out
        assert angles_of(frame)[1].tolist() == [float(out)]
    counted, told = solving.kinematics.collect()
    assert (counted[BEYOND], counted[HELD_AT_END]) == ((0, 1) if clamped else (1, 0))
    assert not clamped or any("raise at 40 degrees" in sentence for sentence in told)


def test_a_coordinate_that_rests_at_its_end_is_not_held_there(make_frame) -> None:
    """Protects poses at an end of a clamped range, against which nothing is pressed: they are good."""
    allow_compilation()
    (body,) = PENDULUM["bodies"]
    bodies = [{**body, "coordinates": [{"name": "raise", "range_deg": [-20, 40], "clamped": True}]}]
    solving = Swing(check_record({**PENDULUM, "bodies": bodies}, ModelSpec, "the test's model"))
    for k, degrees in enumerate((38.0, 39.0, 40.0, 40.001, 40.0)):
        assert solving.solve(make_frame(solving.session, solving.at(degrees), k)).status == Status.OK


def test_a_clamped_length_that_is_held_is_told(make_frame) -> None:
    """Protects clamped displacements: pressed against their end they flag the frame and are named."""
    allow_compilation()
    slider = {"name": "arm", "joint": "slider", "axis": [0, 1, 0],
              "coordinates": [{"name": "lift", "range_mm": [-50, 50], "clamped": True}]}  # fmt: skip
    solving = Swing(check_record({**PENDULUM, "bodies": [slider]}, ModelSpec, "the test's model"))
    markers = solving.at(0.0)
    for k, shift in enumerate((0.0, 0.04, 0.08)):
        frame = solving.solve(make_frame(solving.session, markers + np.array([0.0, shift, 0.0]), k))
        assert bool(frame.status & Status.IMPLAUSIBLE) == (shift > 0.05)
    assert any("lift at 50 mm" in sentence for sentence in solving.kinematics.collect()[1])


@pytest.mark.parametrize("turns", ["planar", "space"])
def test_a_root_is_followed_through_its_clamp(turns: str, make_frame) -> None:
    """Protects persons who face the other way: no wall is meant where a root says where a body is."""
    allow_compilation()
    names = ("along", "up", "tilt") if turns == "planar" else ("x", "y", "z", "a", "b", "tilt")
    coordinates = [
        {"name": name, "range_deg": [-90, 90], "clamped": True} if name in ("a", "b", "tilt")
        else {"name": name, "range_mm": [-50, 50], "clamped": True} for name in names
    ]  # fmt: skip
    root = {"name": "arm", "joint": turns, "coordinates": coordinates}
    if turns == "planar":
        root["axes"] = [[1, 0, 0], [0, 1, 0]]
    else:
        axes = np.eye(3).tolist() * 2
        root |= {"joint": "custom", "motion": [
            {("translates" if k < 3 else "rotates"): axis, "of": name}
            for k, (name, axis) in enumerate(zip(names, axes, strict=True))
        ]}  # fmt: skip
    solving = Swing(check_record({**PENDULUM, "bodies": [root]}, ModelSpec, "the test's model"))
    for k, degrees in enumerate(np.linspace(0.0, 240.0, 49)):
        frame = solving.solve(make_frame(solving.session, solving.at(degrees), k))
        assert frame.status == Status.OK
    q = solving.kinematics.estimator.q[-1]
    assert np.degrees(q) % 360.0 == pytest.approx(240.0, abs=1e-6)
    counted, told = solving.kinematics.collect()
    assert counted[PASSED] in (30, 31)  # one frame is at its end, to rounding
    assert any("tilt (-90 to 90 degrees)" in sentence for sentence in told)


def test_a_run_far_from_its_markers_is_told(make_frame) -> None:
    """Protects from a model of another size: a marker RMS far above what is usual is told."""
    allow_compilation()
    solving = Swing(check_record(PENDULUM, ModelSpec, "the test's model"))
    for scale, n in ((1.0, 0), (1.6, 1)):
        for k in range(20):
            solving.solve(make_frame(solving.session, scale * solving.at(10.0), k))
        told = [
            sentence
            for sentence in solving.kinematics.collect()[1]
            if "RMS of the marker residuals" in sentence
        ]
        assert len(told) == n


def test_where_a_body_is_in_the_laboratory_has_no_range(make_frame) -> None:
    """Protects models whose root moves through the room: its tilt in the room is no joint's."""
    allow_compilation()
    names = ("along", "up", "tilt")
    root = {
        "name": "arm",
        "joint": "planar",
        "axes": [[1, 0, 0], [0, 1, 0]],
        "coordinates": [
            {"name": name, "range_deg": [-1, 1]} if name == "tilt" else {"name": name} for name in names
        ],
    }
    spec = check_record({**PENDULUM, "bodies": [root]}, ModelSpec, "the test's model")
    solving = Swing(spec)
    assert "ranges_deg" not in solving.fields.session.meta
    frame = solving.solve(make_frame(solving.session, solving.at(30.0)))
    assert frame.status == Status.OK
    assert "joint_angles_implausible" not in frame.data


class Swing(ResultSession):
    """A course of a model with markers of its own, on an arm that hangs from ground."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        session = marker_session([marker.name for marker in spec.markers], rate=100.0, t_start=0)
        self.kinematics = Kinematics(MultibodyEstimator(spec, None, "default"), None)
        super().__init__([self.kinematics], session, {})

    def at(self, degrees: float) -> Array:
        """(3, 3) - its markers where the arm is turned about Z [m]."""
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return 1e-3 * np.array([marker.offset_mm for marker in self.spec.markers]) @ turn.T

    def solve(self, frame: ReceivedFrame) -> Solved:
        """One frame and its message."""
        result = self.run(frame)
        message = self.message(frame, result, frame.seq, result.status)
        return Solved(result.status, result.iterations, result.residual, result.t_solved, message)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the recordings")
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: Path(r.trial).stem)
def test_clean_recordings_are_plausible(recording) -> None:
    """Protects from false alarms: walks, squats and standing up, both legs, by every method."""
    person = RecordedPerson(DATA, recording.trial, "both")
    for method in METHODS:
        person.use(method)
        solved = solve(person, person.scene(1))
        assert not (solved.status & int(Status.IMPLAUSIBLE)).any(), method


def test_a_range_upside_down_is_refused() -> None:
    """Protects who writes a model: the angle is named."""
    axes = {"proximal": ["w", "u"], "distal": ["v", "w"], "names": ["a", "b", "c"]}
    body = {**PENDULUM["bodies"][0], "angles": {**axes, "ranges_deg": [[0, 1], [2, -2], [0, 1]]}}
    with pytest.raises(
        ConfigError, match="ranges_deg: b: the lower limit of the range is above the upper limit"
    ):
        check_record({**PENDULUM, "bodies": [body]}, ModelSpec, "the test's model")
