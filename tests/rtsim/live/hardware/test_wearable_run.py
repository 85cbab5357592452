"""A person who wears a device: markers tick the exchange, torque follows the gait, what is lost ends it."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import rtsim.live.hardware.wearable_run
from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.controllers.stiffness_damping import Controller
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.config.runs.run_schema import RunConfig
from rtsim.device import torque_spline
from rtsim.errors import ConfigError
from rtsim.files.recording import Results
from rtsim.live.hardware.wearable_run import run_of, source_of, wearable_loop
from rtsim.live.inputs.paired import PairedInput
from rtsim.live.inputs.recorded import KeptResults
from rtsim.live.inputs.sources import load_trial
from rtsim.methods.gait_phase import FootStride
from rtsim.methods.plates.force_feed import ForceFeed
from rtsim.models.load import load_model
from rtsim.stages.building.find import make_stages
from rtsim.stages.device.wearable import WornJoint, leg_of
from rtsim.stages.stage import StageOutcome
from rtsim.subjects.made_up.walker import CYCLE_S
from rtsim.subjects.markers.labs import SIDES
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import StraightPort
from tests.rtsim.live.rig import Rig, free_address, obeys, rows_of, until
from tests.rtsim.models import legs

pytestmark = pytest.mark.process
RUN = """
name = "walk"
source = "SOURCE"
subject = "walker"
method = "zero"
methods = ["zero"]
stages = ["kinematics", "gait_phase"]
"""
SECONDS = 9.0
LOST_S = 5.0


def worn(folder: Path, source: str = "walker", **exchange) -> HilSpec:
    """Return the shipped config with an estimate by the method `zero`, in lockstep as fast as it goes."""
    run = folder / "walk.toml"
    run.write_text(RUN.replace("SOURCE", source), encoding="utf-8")
    spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
    fast = {"mode": "lockstep", "paced": False, "valid_for_ms": 1000.0, "deadline_ms": 1000.0, **exchange}
    return replace(
        spec, device="ideal_orthosis", markers=replace(spec.markers, run=str(run)),
        exchange=replace(spec.exchange, **fast),
    )  # fmt: skip


def followed(spec: HilSpec, arm_s: float | None = 0.2) -> tuple[Results, StraightPort, list[str]]:
    """Run to the end; results, device, and what was told."""
    allow_compilation()  # the run before has forbidden it
    port, kept = StraightPort(load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)), KeptResults()
    port.hello()
    wearable_loop(spec, run_of(spec), port, kept, arm_s).run()
    results = kept.results()
    assert results is not None
    return results, port, kept.sentences


@pytest.fixture
def walker(monkeypatch):
    """Nine seconds of the walker, with markers hidden from and to a time [s]."""

    def walk(hide: str = "", begin_s: float = 0.0, end_s: float = 0.0) -> None:
        def trial(source: str, **options):
            found = load_trial(source, SECONDS, **options)
            gone = (found.times >= begin_s) & (found.times < end_s)
            columns = [k for k, name in enumerate(found.names) if hide and name.startswith(hide)]
            found.positions[np.ix_(gone, columns)] = np.nan
            return found

        monkeypatch.setattr(rtsim.live.hardware.wearable_run, "load_trial", trial)

    return walk


def test_torque_follows_the_phase_of_the_gait(tmp_path, walker):
    """Protects the way from markers to torque: none before two strides, then the spline of the phase."""
    walker()
    spec = worn(tmp_path)
    found, port, _ = followed(spec)
    torque = np.array([output.torque[0] for output in port.outputs[: len(found.times)]])
    phase, sure = found.fields["gait_phase"][:, 0], found.fields["gait_phase_confidence"][:, 0]
    assert (torque[found.times < 3.0 * CYCLE_S] == 0.0).all()
    c = spec.controller
    late = found.times > 5.0
    wanted = [torque_spline.torque(x, c.peak_Nm, c.peak_time, c.rise_time, c.fall_time) for x in phase[late]]
    assert sure[late].min() >= c.confidence
    np.testing.assert_allclose(torque[late], wanted, atol=1e-9)
    assert torque.min() == pytest.approx(c.peak_Nm, rel=0.02)
    angles = np.array([output.angle[0] for output in port.outputs[: len(found.times)]])
    label = next(f for f in found.session.fields if f.name == "joint_angles").labels.index(spec.coordinate)
    np.testing.assert_array_equal(angles, found.fields["joint_angles"][:, label])
    assert (port.outputs[-1].armed, port.outputs[-1].torque) == (False, [0.0])


def test_markers_that_are_lost_end_the_torque(tmp_path, walker):
    """Protects the wearer: without the foot's markers for a tenth of a second it is over, and stays so."""
    spec = worn(tmp_path)
    walker("R", LOST_S, LOST_S + 0.08)
    _, port, _ = followed(spec)
    assert port.outputs[-2].armed  # a short gap is bridged
    walker("R", LOST_S, LOST_S + 0.5)
    found, port, said = followed(spec)
    armed = np.array([output.armed for output in port.outputs[: len(found.times)]])
    lost = LOST_S + 1e-3 * spec.markers.lost_ms
    assert armed[(found.times > 0.3) & (found.times < lost - 0.02)].all()
    assert not armed[found.times > lost + 0.03].any()
    assert any("no usable frame of markers for" in text for text in said)


def test_an_estimate_that_fails_latches_at_the_device(tmp_path, walker, monkeypatch):
    """Protects the wearer: whatever ends the run, the device hears disarmed last, with the reason."""
    walker()
    run = WornJoint.run

    def failing(joint: WornJoint, frame: ReceivedFrame) -> StageOutcome:
        done = run(joint, frame)
        return StageOutcome(told=False, failure="no estimate") if frame.time > 1.0 else done

    monkeypatch.setattr(WornJoint, "run", failing)
    _, port, said = followed(worn(tmp_path))
    assert any(output.armed for output in port.outputs)
    assert (port.outputs[-1].armed, port.outputs[-1].torque) == (False, [0.0])
    assert any("-> fault: the simulation failed: no estimate" in text for text in said)


def test_the_moment_of_the_joint_reaches_the_controller(tmp_path, walker):
    """Protects controllers by moment: with plates and a mass it is that of inverse dynamics, a frame old."""
    walker()
    spec, mine = worn(tmp_path), tmp_path / "mine.py"
    run = Path(spec.markers.run)
    stages = '["kinematics", "rates", "plates", "inverse_dynamics"]'
    text = run.read_text(encoding="utf-8").replace('["kinematics", "gait_phase"]', stages)
    run.write_text(f'{text}forces = "walker"\nmass_kg = 72.0\n', encoding="utf-8")
    mine.write_text(
        "def torque(seen, own):\n    return 0.05 * seen.moment if abs(seen.moment) < 1e3 else 0.0\n",
        encoding="utf-8",
    )
    table = {"kind": "python", "function": f"{mine}:torque", "stiffness_most_N_m_rad": 0.0}
    spec = replace(spec, controller=table | {"damping_most_N_m_s_rad": 0.0})
    found, port, _ = followed(spec)
    label = next(f for f in found.session.fields if f.name == "joint_moments").labels.index(spec.coordinate)
    moment = found.fields["joint_moments"][:, label]
    torque = np.array([output.torque[0] for output in port.outputs[: len(found.times)]])
    known = np.flatnonzero(np.isfinite(moment[:-1]) & (found.times[:-1] > 2.0))
    assert len(known) > 300
    np.testing.assert_allclose(torque[known + 1], 0.05 * moment[known], atol=1e-9)


def test_what_does_not_fit_is_told(tmp_path, walker):
    """Protects the author of a config: the angle, the rate, the phase and the damping, in sentences."""
    walker()
    spec = worn(tmp_path)
    with pytest.raises(ConfigError, match=r"no joint angle or coordinate 'elbow'; allowed: hip_flexion"):
        followed(replace(spec, coordinate="elbow"))
    with pytest.raises(ConfigError, match=r"come at 100 Hz; remedy|come at 100 Hz.*give --rate 100"):
        followed(replace(spec, exchange=replace(spec.exchange, rate_hz=500.0)))
    with pytest.raises(ConfigError, match="the loop may generate energy"):
        run_of(replace(spec, device="ankle_orthosis", markers=replace(spec.markers, damping_N_m_s_rad=0.01)))
    with pytest.raises(ConfigError, match=r"valid for 5 ms ends before the next command.*10 ms"):
        run_of(worn(tmp_path, valid_for_ms=5.0))
    path = Path(spec.markers.run)
    path.write_text(RUN.replace("SOURCE", "walker").replace(', "gait_phase"', ""), encoding="utf-8")
    with pytest.raises(ConfigError, match="set `gait` to a run whose stages contain gait_phase"):
        run_of(spec)


class Strides:
    """What a stage of the gait phase says of the legs that it follows."""

    sideless = None

    def __init__(self, *sides: str) -> None:
        self._sides = [SIDES.index(side) for side in sides]

    def stride(self, side: int) -> FootStride | None:
        """The stride of a leg, None where it is not followed."""
        return FootStride(side, len(SIDES)) if side in self._sides else None


LEGS = {
    "stated": ("ankle_dorsiflexion", "right", ("right", "left"), "right"),
    "of the name": ("ankle_dorsiflexion_l", None, ("right", "left"), "left"),
    "of another name": ("left_ankle", None, ("right", "left"), "left"),
    "the only one": ("ankle_dorsiflexion", None, ("left",), "left"),
    "the other one": ("ankle_dorsiflexion_l", "right", ("right", "left"), "is a coordinate of the left leg"),
    "the other one, too": ("ankle_r", "left", ("right", "left"), "is a coordinate of the right leg"),
    "one that is not there": ("ankle_dorsiflexion", "right", ("left",), "no gait phase of the right leg"),
    "one of two": ("ankle_dorsiflexion", None, ("right", "left"), "does not state which leg"),
    "no foot": ("ankle_dorsiflexion_l", None, (), "the model has no foot"),
}
"""Coordinate, `side` of the config, legs that are followed, and the leg that is found or what is said."""


@pytest.mark.parametrize("case", LEGS)
def test_torque_follows_the_gait_of_the_leg_that_wears_it(case: str) -> None:
    """Protects the wearer: a push-off by the phase of the other leg would come in this one's swing, and one
    by no phase never; either is refused before anything moves."""
    coordinate, side, followed, found = LEGS[case]
    spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
    spec = replace(spec, coordinate=coordinate, markers=replace(spec.markers, side=side))
    if found in SIDES:
        assert SIDES[leg_of(spec, Strides(*followed))] == found
        return
    with pytest.raises(ConfigError, match=f"worn_ankle: markers.side: .*{found}"):
        leg_of(spec, Strides(*followed))


def test_a_controller_that_does_not_see_the_gait_needs_no_leg() -> None:
    """Protects devices at other joints: a spring at the trunk need not say which leg it is on."""
    spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
    spring = replace(
        spec, coordinate="lumbar_extension", markers=replace(spec.markers, side=None), controller=Controller()
    )
    assert leg_of(spring, Strides("right", "left")) is None
    assert leg_of(spring, None) is None
    of_the_other = replace(spring, markers=replace(spring.markers, side="left"))
    assert leg_of(of_the_other, Strides("right")) is None


FIRST = "[[markers]]"
UPPER_ONLY = """
[[bodies]]
name = "upper_r"
joint_name = "hip_r"
parent = "hips"
joint = "hinge"
axis = [0, 0, 1]
in_parent = { offset_mm = [0.0, 0.0, 100.0] }
coordinates = [{ name = "hip_flexion_r" }]
mass_kg = 8.0
inertia_kg_m2 = [0.12, 0.03, 0.13]
"""


@pytest.mark.parametrize(
    ("coordinate", "side", "is_its"),
    [
        ("ankle_l", None, True),
        ("ankle_l", "left", True),
        ("tilt", None, True),
        ("tilt", "right", True),
        ("hip_flexion_r", None, False),
        ("hip_flexion_r", "right", False),
    ],
)
def test_an_only_foot_without_a_side_is_that_of_its_own_leg(
    tmp_path: Path, coordinate: str, side: str | None, is_its: bool
) -> None:
    """Protects a model of one leg of its own: its foot has no side in its name and counts as right, but the
    device at its ankle follows it; one at the other leg, which has no foot, does not."""
    path = tmp_path / "leg.toml"
    text = legs.text("l").replace("sole_l", "sole").replace(FIRST, UPPER_ONLY + FIRST, 1)
    path.write_text(text, encoding="utf-8")
    run = RunConfig(name="test", method="default", stages=("kinematics", "gait_phase"))
    gait = make_stages(run, load_model(str(path)), None)[-1]
    spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
    spec = replace(spec, coordinate=coordinate, markers=replace(spec.markers, side=side))
    if is_its:
        assert gait.stride(leg_of(spec, gait)) is not None
        return
    with pytest.raises(ConfigError, match="no gait phase of the right leg is computed"):
        leg_of(spec, gait)


def test_the_leg_is_checked_before_anything_is_built(tmp_path) -> None:
    """Protects from a wrong leg in `rtsim check`, too; without the key the coordinate tells the leg."""
    spec = replace(worn(tmp_path), model="both_legs", coordinate="ankle_dorsiflexion_l")
    path = Path(spec.markers.run)
    path.write_text(RUN.replace("SOURCE", "walker").replace('subject = "walker"\n', ""), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"markers.side: .* allowed: left"):
        run_of(spec)
    assert run_of(replace(spec, markers=replace(spec.markers, side=None))).model == "both_legs"


def test_a_stream_that_falls_silent_latches(tmp_path):
    """Protects the wearer: markers that stop end the torque, and that they come back does not begin it."""
    address = free_address()
    (tmp_path / "walk.toml").write_text(RUN.replace("SOURCE", address), encoding="utf-8")
    with Rig(tmp_path, "free") as rig:
        text = rig.config.read_text(encoding="utf-8").replace('"shank_foot"', '"lower_limb"')
        text = text.replace('"ankle"', '"ankle_dorsiflexion"').replace(
            "energy_max_J = 50.0", "energy_max_J = 500.0"
        )
        text += f'[markers]\nrun = "{tmp_path / "walk.toml"}"\ndamping_N_m_s_rad = 5.0\nlost_ms = 400.0\n'
        text = text.replace("neutral_deg = 20.0", "neutral_deg = 60.0")  # beyond what the ankle reaches
        rig.config.write_text(text, encoding="utf-8")
        player = rig.start("replay", "walker", "--duration", "60", "--address", address)
        rig.start_model()
        _, log = rig.start_device()
        rig.arm()
        until(lambda: any(abs(output.torque[0]) > 0.5 for output in rig.outputs))
        player.send_signal(signal.SIGSTOP)
        until(lambda: any("no markers have come for" in text for text in rig.said))
        until(lambda: rig.outputs[-1].torque == [0.0] and not rig.outputs[-1].armed)
        assert not rig.ask("arm")[0]
        player.send_signal(signal.SIGCONT)
        n = len(rig.results)
        until(lambda: len(rig.results) > n + 50)
        assert not any(output.armed for output in list(rig.outputs)[-20:])
        until(lambda: rig.ask("arm")[0])
        until(lambda: rig.outputs[-1].armed)
        assert rig.ask("stop")[0]
        until(lambda: any(told.gauges.get("final") == 1.0 for told in rig.telemetry))
        assert obeys(rows_of(log)) <= 2  # a busy machine may cost it its torque once more


def test_markers_and_forces_of_streams_are_one_input():
    """Protects a worn device beside force plates: both streams are opened, and one session leads."""
    spec = load_toml(find_config("worn_ankle", "hil"), HilSpec)
    run = RunConfig(name="worn", source=free_address(), forces=free_address())
    source = source_of(spec, run, ForceFeed())
    assert isinstance(source, PairedInput)
    with source:
        assert (source.subscriber.address, source.forces.address) == (run.source, run.forces)
        assert source.alone


def test_the_command_tells_what_markers_are_for():
    """Protects from an option that does nothing: --from is for configs with [markers]."""
    with pytest.raises(
        ConfigError, match=r"--from: the option applies only to configs with a table \[markers\]"
    ):
        cli(["hil", "ankle", "--from", "walker"], standalone_mode=False)
