"""The balance of a model that a motion drives: a file through the loop, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kernels.fdk.problem import BALANCED
from rtsim.config.paths import find_config
from rtsim.config.runs.choices import load_run
from rtsim.config.runs.fdk_schema import FdkSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.errors import ConfigError
from rtsim.live.inputs.prescribed_motion_run import check_driven, is_driven, session_of, stage_of
from rtsim.live.inputs.recorded import KeptResults, TimesInput
from rtsim.live.loop import Loop
from rtsim.methods.fdk.fdk import ForceDependentKinematics
from rtsim.models.load import load_model
from rtsim.models.model import build
from rtsim.models.roles import roles_of
from rtsim.simulation.drivers import Drivers
from streams.messages import Status

SPEC = load_model("mandible")
OPENING, PROTRUSION, DEVIATION = 0.15, 0.003, 0.02
"""Amplitudes [rad, m, rad] of a motion of 1 Hz."""
OMEGA = 2.0 * np.pi
START = 0.4
NAMES = ("opening", "protrusion", "deviation")


def made(times: np.ndarray) -> np.ndarray:
    """(3, n, 3) - the drivers, their speeds and accelerations, by the time since the start [s]: closed.

    There condyles just touch, and slopes point away from the balance, which the flow finds.
    """
    lift, sway = OMEGA * times, 2.0 * OMEGA * times
    opening = 0.5 * OPENING * np.array([1.0 - np.cos(lift), OMEGA * np.sin(lift), OMEGA**2 * np.cos(lift)])
    protrusion = PROTRUSION / OPENING * opening
    turned = 2.0 * OMEGA
    deviation = DEVIATION * np.array([np.sin(sway), turned * np.cos(sway), -(turned**2) * np.sin(sway)])
    return np.stack([opening, protrusion, deviation], axis=2)


@pytest.fixture
def motion(tmp_path) -> Path:
    """A third of a second at 100 Hz, in degrees and metres; the file has another column."""
    times = 0.01 * np.arange(34)
    rows = made(times)[0]
    lines = ["a motion", "inDegrees=yes", "endheader", "\t".join(("time", *NAMES, "shift"))]
    lines += [
        f"{START + t:.6f}\t{np.degrees(row[0]):.12g}\t{row[1]:.12g}\t{np.degrees(row[2]):.12g}\t0.5"
        for t, row in zip(times, rows, strict=True)
    ]
    path = tmp_path / "jaw.mot"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def run_of(source: Path, joint: str = "fdk") -> RunConfig:
    """The shipped run of the mandible, of a motion."""
    return replace(load_run(find_config("mandible", "runs"), [f"joint={joint}"]), source=str(source))


@pytest.mark.own_kernels
@pytest.mark.parametrize("joint", ["pop", "fdk"])
def test_a_motion_is_balanced_as_its_formulas_are(motion, joint: str) -> None:
    """Protects the chain: units, names, times, splines' speeds; beside drivers by formula, frame by frame."""
    run = run_of(motion, joint)
    check_driven(run)
    stage = stage_of(run, lambda said: None)
    kept = KeptResults()
    Loop(TimesInput(stage.drivers.times, session_of(stage.drivers)), [stage], kept).run()
    found = kept.results()
    assert found is not None
    assert (found.status == 0).all()
    assert found.session.rate == pytest.approx(100.0)
    np.testing.assert_allclose(found.times, START + 0.01 * np.arange(34), atol=1e-9)
    model = build(SPEC, method="pop")
    at = [model.coordinates.names.index(name) for name in NAMES]
    own = ForceDependentKinematics(model, roles_of(SPEC, "pop"), run.fdk)
    driven = model.tree.dof_body == 0
    driven[model.coordinates.dof[at]] = True
    for k in (5, 17, 28):
        q, (v, v_dot) = model.q_neutral.copy(), np.zeros((2, model.n_v))
        q[model.coordinates.q[at]], v[model.coordinates.dof[at]], v_dot[model.coordinates.dof[at]] = made(
            0.01 * np.array([k])
        )[:, 0]
        assert own.drive(q, v, v_dot, driven) == BALANCED
        # a cubic spline's curvature is off by a part (omega h)^2 / 12 of the fastest driver
        np.testing.assert_allclose(found.fields["muscle_activations"][k], own.activations, atol=1e-4)
        alike = np.r_[q[model.coordinates.q[at][0]], q[model.coordinates.q[at][2]]]
        np.testing.assert_allclose(found.fields["joint_angles"][k, :2], alike, atol=1e-10)
        if joint == "fdk":
            np.testing.assert_allclose(found.fields["fdk_displacements"][k], own.alpha, atol=3e-6)


@pytest.mark.own_kernels
def test_frames_without_balance_have_no_coordinates(motion) -> None:
    """Protects from numbers that look known: where the jaw is torn open nothing is told, then it goes on."""
    lines = motion.read_text(encoding="utf-8").splitlines()
    for k in range(14, 20):
        time, opening, _, deviation, shift = lines[k].split("\t")
        lines[k] = "\t".join((time, opening, "0.5", deviation, shift))
    motion.write_text("\n".join([*lines, ""]), encoding="utf-8")
    stage = stage_of(run_of(motion), lambda said: None)
    kept = KeptResults()
    Loop(TimesInput(stage.drivers.times, session_of(stage.drivers)), [stage], kept).run()
    found = kept.results()
    assert found is not None
    torn = found.status & int(Status.NOT_CONVERGED) != 0
    assert torn[11:15].all()
    assert not torn[-5:].any()
    for name in ("joint_angles", "joint_displacements", "muscle_forces", "fdk_displacements"):
        assert (np.isnan(found.fields[name]).all(axis=1) == torn).all()


@pytest.mark.own_kernels
def test_drivers_that_are_not_as_many_as_the_model_leaves_are_told(motion) -> None:
    """Protects configs: one driver too few, one too many, and a joint that holds nothing, in one sentence."""
    run = run_of(motion)
    for drivers in (NAMES[:2], (*NAMES, "shift")):
        with pytest.raises(ConfigError, match="no pose was found for the start of the motion"):
            stage_of(replace(run, fdk=replace(run.fdk, drivers=drivers)), lambda said: None)
    with pytest.raises(ConfigError, match="the method free has 0 hard constraints"):
        stage_of(run_of(motion, "markers"), lambda said: None)


def test_what_a_motion_cannot_have_is_told_before_anything_is_compiled(motion, tmp_path) -> None:
    """Protects configs: drivers, options and stages that are of something else, columns of force plates."""
    run = run_of(motion)
    assert is_driven(run)
    assert not is_driven(replace(run, source="jaw.trc"))
    assert not is_driven(replace(run, stages=("kinematics",), fdk=FdkSpec()))
    for changed, words in (
        (replace(run, fdk=FdkSpec()), "no coordinate is prescribed by a motion"),
        (
            replace(run, fdk=replace(run.fdk, drivers=("gape",))),
            "'gape' is not a coordinate that can be driven",
        ),
        (replace(run, source=str(tmp_path / "none.mot")), "there is no file"),
        (replace(run, mass_kg=70.0), "for markers or force plates"),
        (
            replace(run, stages=("kinematics", "fdk", "muscles")),
            "'muscles' cannot run on a prescribed motion",
        ),
    ):
        with pytest.raises(ConfigError, match=words):
            check_driven(changed)
    plates = motion.read_text(encoding="utf-8").replace("opening", "ground_force_vx")
    motion.write_text(plates, encoding="utf-8")
    with pytest.raises(ConfigError, match="no column for the coordinate 'opening'"):
        stage_of(run, lambda said: None)


def test_a_unit_that_is_not_the_headers_is_told(motion) -> None:
    """Protects from degrees read as radians and millimetres as metres: no jaw goes so far."""
    heard: list[str] = []
    spec = load_model("mandible")
    text = motion.read_text(encoding="utf-8")
    Drivers(spec, build(spec, None, "pop"), NAMES, str(motion), heard.append)
    assert not heard
    motion.write_text(text.replace("inDegrees=yes", "inDegrees=no"), encoding="utf-8")
    Drivers(spec, build(spec, None, "pop"), NAMES, str(motion), heard.append)
    assert any("opening goes from" in said and "far beyond its range" in said for said in heard)
