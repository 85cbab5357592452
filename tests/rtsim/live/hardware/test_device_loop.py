"""`rtsim hil`: runs that can be repeated bit for bit, free runs, and what is refused."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from kernels.compiler.jit import allow_compilation
from rtsim.cli.main import cli
from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device.exchange import DeafPort, DeviceExchange
from rtsim.errors import ConfigError
from rtsim.live.hardware.device_loop import hil_loop
from rtsim.live.hardware.device_process import SimulatedDevice
from rtsim.live.hardware.limb_parts import of_another_joint, simulator_for
from rtsim.stages.device.exchange import EMERGENCY, MOST_ASKED, DeviceTorque
from rtsim.stages.device.exchange_results import MEANINGS
from streams.clock import now_ns
from streams.codec import decode
from streams.messages import Command, Device, Output, Result, Status, Telemetry
from streams.publisher import Publisher
from streams.recording.recorded import read_messages
from tests.rtsim.device.straight import StraightPort
from tests.rtsim.live.rig import ROOT, Rig, obeys, rows_of, until

pytestmark = pytest.mark.process
SECONDS = {"worn_ankle": "5.2"}
"""Of runs that take longer to their first torque: four strides."""
REPEATED = ("ankle", "worn_ankle")
"""One of a simulated limb, one of a person; a limb that a file moves has a test of its own."""
ANY = [f"--{name}-address=tcp://127.0.0.1:0" for name in ("results", "control", "port")]


BESIDE = "[misalignment]\noffset_mm = [45.0, 0.0, 0.0]\ncuff_mm = [{cuff}]\n[limits]"


def hil(*arguments: str, code: int = 0) -> dict:
    """Run `rtsim hil` to its end, with that exit code; the summary."""
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "hil", *arguments, "--json", *ANY],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def heard(path: Path) -> list[tuple]:
    """Return what a recording holds of a run, session ids and clock stamps left out."""
    found: list[tuple] = []
    for _, topic, payload in read_messages(path):
        m = decode([topic, payload])
        if isinstance(m, Result):
            found.append(("result", m.seq, m.time, m.status, m.iterations, repr(m.residual), m.data))
        elif isinstance(m, Device):
            found.append(("device", m.seq, m.command, m.angle, m.speed, m.torque, m.actuator, m.state))
        elif isinstance(m, Output):
            found.append(("output", m.seq, m.armed, m.torque, m.angle, m.speed, m.time))
        elif isinstance(m, Command):
            found.append(("command", m.name, m.args))
    return found


@pytest.mark.parametrize("config", REPEATED)
def test_lockstep_repeats_bit_for_bit(config: str, tmp_path: Path) -> None:
    """Protects lockstep: noise and all, two runs and a recording run again are byte for byte the same."""
    one, two, again = (str(tmp_path / f"{name}.mcap") for name in ("one", "two", "again"))
    seconds = SECONDS.get(config, "1.5")
    run = [config, "--mode", "lockstep", "--duration", seconds, "--arm", "0.2", "--fast"]
    summary = hil(*run, "--record", one)
    hil(*run, "--record", two)
    hil(config, "--mode", "lockstep", "--fast", "--again", one, "--record", again)
    assert (summary["faults"], summary["unanswered"], summary["compiled"]) == (0, 0, 0)
    first = heard(Path(one))
    rate_hz = load_toml(find_config(config, "hil"), HilSpec).exchange.rate_hz
    assert ("command", "arm", {"tick": round(0.2 * rate_hz)}) in first
    assert sum(entry[0] == "output" for entry in first) == summary["ticks"] + 1
    torques = [entry[3][0] for entry in first if entry[0] == "output"]
    assert max(map(abs, torques)) > 0.5
    assert torques[-1] == 0.0
    assert heard(Path(two)) == first
    assert heard(Path(again)) == first


def test_a_leg_moved_by_a_file_runs_again_bit_for_bit(tmp_path: Path) -> None:
    """Protects motion from a file: as long as the file, where it says, and the same when run again."""
    motion, one, again = tmp_path / "trunk.mot", tmp_path / "one.mcap", tmp_path / "again.mcap"
    rows = [f"{0.01 * k:g} {0.05 * math.sin(0.06 * k):.9f} 1.1 {0.02 * k:.9f}" for k in range(81)]
    head = "trunk\nversion=1\nnRows=81\nnColumns=4\ninDegrees=yes\nendheader\n"
    names = "time pelvis_x pelvis_y pelvis_tilt"
    motion.write_text(head + "\n".join([names, *rows]) + "\n", encoding="utf-8")
    run = ["leg_swing", "--fast", "--motion", str(motion)]
    summary = hil(*run, "--arm", "0.2", "--record", str(one))
    assert (summary["ticks"], summary["faults"], summary["compiled"]) == (400, 0, 0)
    assert summary["energy_drift_largest_J"] < 0.05
    hil(*run, "--again", str(one), "--record", str(again))
    assert heard(again) == heard(one)


def test_a_recording_is_run_again_by_its_own_config(tmp_path: Path) -> None:
    """Protects from results that are neither the recorded run nor a new one: another config, another rate and
    --arm are refused, and of a recording that is cut it is said."""
    one, cut = tmp_path / "one.mcap", tmp_path / "cut.mcap"
    hil("ankle", "--fast", "--duration", "0.4", "--record", str(one))
    for words, arguments in (
        ("the recorded run has controller", ["ankle_spline"]),
        ("exchange.rate_hz = 500.0; allowed: exchange.rate_hz = 400.0", ["ankle", "--rate", "400"]),
        ("in a replay, all commands to the device come from the recording", ["ankle", "--arm"]),
    ):
        with pytest.raises(ConfigError, match=words):
            cli.main(["hil", *arguments, "--again", str(one), *ANY], standalone_mode=False)
    cut.write_bytes(one.read_bytes()[: one.stat().st_size // 2])
    done = subprocess.run(
        [sys.executable, "-m", "rtsim.cli.main", "hil", "ankle", "--fast", "--again", str(cut), *ANY],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0
    assert "its tail is cut" in done.stderr
    assert "the run ends there" in done.stderr


def test_a_device_for_another_joint_is_told() -> None:
    """Protects from a knee brace at an ankle: it runs, and a sentence says what does not go together."""
    brace = load_toml(find_config("knee_brace", "devices"), DeviceSpec)
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    assert "is for the joint 'knee', but acts on ankle" in of_another_joint(spec, brace)
    for name in ("ankle", "ankle_spline", "leg_stance", "leg_swing", "knee_brace", "worn_ankle"):
        shipped = load_toml(find_config(name, "hil"), HilSpec)
        own = load_toml(find_config(shipped.device, "devices"), DeviceSpec)
        assert of_another_joint(shipped, own) == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full disk to write to")
def test_a_device_whose_log_is_full_goes_on() -> None:
    """Protects the guard over the torque from a disk without room: it ticks on, and says so at its end."""
    device = SimulatedDevice(load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec), QuietLink(),
                             Path("/dev/full"))  # fmt: skip
    with device:
        device.answer(
            Output(session="0123456789abcdef", seq=0, t_sent=now_ns(), valid_for_ms=20.0, armed=False,
                   answer=True, time=0.0, tick_ms=1.0, torque=[0.0], torque_max=[1.0], angle=[0.0],
                   speed=[0.0])
        )  # fmt: skip
    assert device.n_tick == 1
    assert "No space left" in device.unlogged


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no terminals among its files")
def test_a_device_whose_log_takes_no_more_goes_on() -> None:
    """Protects the guard over the torque from a terminal that somebody holds: it does not wait for it."""
    ours, theirs = os.openpty()
    device = SimulatedDevice(load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec), QuietLink(),
                             Path(os.ttyname(theirs)))  # fmt: skip
    with device:
        for _ in range(100_000):  # nobody reads: a terminal holds some kilobytes
            device._write("a row\n")
            if device.unlogged:
                break
    os.close(ours)
    os.close(theirs)
    assert device.unlogged


class QuietLink:
    """Nobody at the other end."""

    def newest(self, timeout_ms: int) -> None:
        """Return nothing: nothing comes."""

    def send(self, device: Device) -> None:
        """Nobody hears it."""

    def close(self) -> None:
        """There is nothing to close."""


def test_a_model_that_fails_says_zero_and_disarmed() -> None:
    """Protects the device from a simulation without numbers: its last output is zero and disarmed."""
    allow_compilation()
    device = load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)
    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    spec = replace(spec, exchange=replace(spec.exchange, paced=False, valid_for_ms=1000.0))
    port, simulator = StraightPort(device), simulator_for(spec)
    port.hello()

    def break_down(message: Device) -> Device:
        if message.seq == 800:
            assert port.outputs[-1].torque != [0.0]
            simulator.v[:] = float("nan")
        return message

    port.forge = break_down
    with Publisher("tcp://127.0.0.1:0") as publisher:
        loop = hil_loop(spec, simulator, port, publisher, arm_s=0.1)
        loop.run()
    allow_compilation()
    assert "no longer a finite number" in loop.failure or "no solution" in loop.failure
    assert port.outputs[-2].armed
    assert (port.outputs[-1].armed, port.outputs[-1].torque) == (False, [0.0])


def test_a_free_run_takes_the_newest_value_and_tells_its_age(tmp_path: Path) -> None:
    """Protects free runs: two clocks, no waiting; the age of what counts stands in the frames."""
    with Rig(tmp_path, "free") as rig:
        rig.start_model()
        _, log = rig.start_device()
        rig.arm()
        until(lambda: len(rig.results) > 20)
        assert all(not output.answer for output in rig.outputs)
        assert rig.ask("stop")[0]
        until(lambda: any(told.gauges.get("final") == 1.0 for told in rig.telemetry))
        assert {row.kind for row in rows_of(log)} == {"own"}
        obeys(rows_of(log))


def test_the_fields_of_a_device_are_documented() -> None:
    """Protects the table of docs/protocol.md: names, units and meanings are those of the quantities."""
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert "| `device_parameters` | [n] |" in text
    for name, (unit, _, meaning) in MEANINGS.items():
        assert f"| `{name}` | [n] | {unit} |  |  | {meaning} |" in text


def test_parameters_are_tuned_while_it_runs(tmp_path: Path) -> None:
    """Protects tuning: within ranges, ramped, undone, switched, each recorded; run again the same."""
    with Rig(tmp_path) as rig:
        one, again = tmp_path / "one.mcap", tmp_path / "again.mcap"
        model = rig.start_model("--record", str(one))
        rig.start_device()
        rig.arm()
        told = subprocess.run(
            [sys.executable, "-m", "rtsim.cli.main", "tune", "--control", rig.control, "--set",
             "stiffness_N_m_rad=24", "--over", "0.1"], capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        assert "next time step" in told.stdout
        assert "12 -> 24, over 0.1 s" in rig.heard("12 -> 24")
        assert rig.ask("save", name="stiff")[0]
        until(lambda: "stiff." in rig.ask("list")[1])
        for wrong in (
            {"stiffness_N_m_rad": 31.0},
            {"stiffness_N_m_rad": "nan"},
            {"damping_N_m_s_rad": 0.0},
            {},
        ):
            assert not rig.ask("set", **wrong)[0]
        assert not rig.ask("switch", name="soft")[0]
        assert rig.ask("undo")[0]
        rig.heard("24 -> 12")
        assert rig.ask("switch", name="stiff", over_s=0)[0]
        rig.heard("12 -> 24, over 0 s")
        assert rig.ask("stop")[0]
        assert model.wait(120.0) == 0
        found = heard(one)
        names = [name for name, _ in groupby(entry[1] for entry in found if entry[0] == "command")]
        assert names == ["arm", "set", "save", "undo", "switch"]
        hil(str(rig.config), "--fast", "--again", str(one), "--record", str(again))
        assert heard(again) == found


def test_the_limb_is_paused_stepped_and_reset_under_no_torque(tmp_path: Path) -> None:
    """Protects pause, step, reset and emergency stop: disarmed first, recorded, run again bit for bit."""
    with Rig(tmp_path) as rig:
        one, again = tmp_path / "one.mcap", tmp_path / "again.mcap"
        model = rig.start_model("--record", str(one))
        rig.start_device()
        rig.arm()
        assert not rig.ask("step")[0]  # not paused
        assert rig.ask("pause")[0]
        assert "armed -> disarmed: the limb was commanded to pause" in rig.heard("to pause")
        until(lambda: rig.results and rig.results[-1].status & Status.STALE)
        stood = rig.results[-1].time
        assert "paused" in rig.ask("arm")[1]
        for wrong in ({"ticks": 0}, {"ticks": "many"}, {"ticks": 1.5}, {"tocks": 1}):
            assert not rig.ask("step", **wrong)[0]
        assert rig.ask("step", ticks=3)[0]
        until(lambda: rig.results[-1].status & Status.STALE and rig.results[-1].time > stood)
        assert rig.results[-1].time - stood == pytest.approx(0.03)
        assert rig.ask("resume")[0]
        rig.arm()
        assert rig.ask("reset")[0]
        rig.heard("to reset")
        rig.arm()
        assert rig.ask("emergency_stop")[0]
        assert "-> fault: emergency stop by command" in rig.heard("emergency stop")
        rig.arm()
        rig.ask("stop")
        assert model.wait(120.0) == 0
        found = heard(one)
        names = [name for name, _ in groupby(entry[1] for entry in found if entry[0] == "command")]
        assert names == ["arm", "pause", "step", "resume", "arm", "reset", "arm", "emergency_stop", "arm"]
        outputs = [entry for entry in found if entry[0] == "output"]
        standing = [b for a, b in pairwise(outputs) if b[6] == a[6]]
        assert len(standing) > 3
        assert all(not entry[2] and entry[3] == [0.0] and entry[5] == [0.0] for entry in standing[:-1])
        assert min(b[6] - a[6] for a, b in pairwise(outputs)) < -0.1  # it went back to its start
        kept = [decode([topic, payload]) for _, topic, payload in read_messages(one)]
        said = [isinstance(m, Telemetry) and m.gauges.get("paused") == 1.0 for m in kept]
        stale = [isinstance(m, Result) and bool(m.status & Status.STALE) for m in kept]
        assert said.index(True) < stale.index(True)  # so that nobody takes it for silence
        hil(str(rig.config), "--fast", "--again", str(one), "--record", str(again))
        assert heard(again) == found


def test_a_free_limb_is_not_paused(tmp_path: Path) -> None:
    """Protects free runs, where the wall clock ticks: a pause is refused with the reason and the remedy."""
    allow_compilation()
    with Rig(tmp_path, "free") as rig:
        spec = load_toml(rig.config, HilSpec)
        torque = DeviceTorque(DeviceExchange(spec, DeafPort(), "0" * 16), simulator_for(spec))
        for name in ("pause", "step"):
            ok, words = torque.orders[name].answer({})
            assert not ok
            assert "disarm the device" in words
        assert torque.orders["reset"].answer({})[0]
        answers = [torque.orders["set"].answer({"stiffness_N_m_rad": 1.0}) for _ in range(100)]
        assert sum(ok for ok, _ in answers) == MOST_ASKED - 1  # those that wait for a tick are bounded
        assert "waiting for the next time step" in answers[-1][1]
        assert torque.orders[EMERGENCY].answer({})[0]  # and this one is taken whatever waits


def test_without_a_device_a_run_ends_with_a_sentence(tmp_path: Path) -> None:
    """Protects who forgot the device: it is said, with the remedy, and the exit code is not zero."""
    with Rig(tmp_path) as rig:
        text = rig.config.read_text(encoding="utf-8")
        rig.config.write_text(text.replace("missed_most = 3", "missed_most = 3\nconnect_s = 0.2"))
        done = subprocess.run(
            [sys.executable, "-m", "rtsim.cli.main", "hil", str(rig.config), "--device", "none"],
            capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
        )  # fmt: skip
        assert done.returncode == 1
        assert "no device has connected" in done.stderr
        assert "rtsim device" in done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('coordinate = "ankle"', 'coordinate = "knee_forwards"', "no coordinate 'knee_forwards'"),
        ('coordinate = "ankle"', 'coordinate = "toe"', "no coordinate 'toe'"),
        ("stiffness_N_m_rad = 12.0", "stiffness_N_m_rad = 120.0", "between"),
        ("[0.0, 25.0]", "[0.0, 250.0]", "at most"),
        ("[0.0, 25.0]", "[20.0, 25.0]", "stiffness_N_m_rad = 12 between"),
        ("ranges = { stiffness_N_m_rad", "ranges = { softness", "unknown key 'softness'"),
        ("valid_for_ms = 1000.0", "valid_for_ms = 5.0", "ends before the next command"),
        ("angle_deg = [-80.0, 80.0]", "angle_deg = [80.0, -80.0]", "low < high"),
        ("torque_max_Nm = 20.0", "torque_max_Nm = inf", "<= 1000"),
        ("torque_max_Nm = 20.0", "torque_max_Nm = 1e9", "<= 1000"),
        (
            "torque_max_Nm = 20.0",
            "torque_max_Nm = 30.5",
            "30.5 N m is more than the actuator of rig can apply, 30 N m",
        ),
        ("torque_max_Nm = 20.0", "torque_max_Nm = -20.0", "> 0"),
        ("rate_max_Nm_s = 1000.0", "rate_max_Nm_s = 1e7", "<= 100000"),
        ("power_max_W = 500.0", "power_max_W = 1e6", "<= 10000"),
        ("speed_max_deg_s = 3000.0", "speed_max_deg_s = 1e6", "<= 3600"),
        ("measured_max_Nm = 60.0", "measured_max_Nm = 1e12", "<= 1000"),
        ("tracking_ms = 500.0", "tracking_ms = 1e8", "<= 10000"),
        ("angle_deg = [-80.0, 80.0]", "angle_deg = [-3600.0, 3600.0]", "allowed: -360 to 360"),
        ("rate_hz = 100.0", "rate_hz = 9000.0", "4000"),
        ('mode = "lockstep"', 'mode = "sloppy"', "lockstep"),
        ('coordinate = "ankle"', 'coordinate = "ankle"\nprescribed = ["toe"]', "unknown coordinate 'toe'"),
        (
            'coordinate = "ankle"',
            'coordinate = "ankle"\nprescribed = ["shank_tilt"]',
            "shank_tilt: the prescribed motion is missing",
        ),
        (
            'coordinate = "ankle"',
            'coordinate = "ankle"\nmotion = "walk.c3d"',
            "motion cannot be read from walk.c3d",
        ),
        (
            "[limits]",
            BESIDE.format(cuff="0.0, 0.0, 50.0"),
            "from the limb's joint, and the cuff is 0 mm from",
        ),
        ("[limits]", BESIDE.format(cuff="100.0, 0.0, 0.0"), "have|at most|less damping"),
    ],
)
def test_a_config_that_cannot_be_is_refused(right: str, wrong: str, words: str, tmp_path: Path) -> None:
    """Protects from runs that would be unsafe or mean nothing: what, where and what is allowed is said."""
    with Rig(tmp_path) as rig:
        text = rig.config.read_text(encoding="utf-8")
        assert right in text
        rig.config.write_text(text.replace(right, wrong), encoding="utf-8")
        with pytest.raises(ConfigError, match=words):
            cli.main(["hil", str(rig.config)], standalone_mode=False)
