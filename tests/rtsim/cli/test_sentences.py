"""What a newcomer is told at the first mistake: who is meant, which option, and what would help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rtsim.config.paths import configs_root, find_config

ROOT = Path(__file__).resolve().parents[3]
ANKLE = (configs_root() / "hil" / "ankle.toml").read_text(encoding="utf-8")
SEARCH = ("tune", "ankle", "--auto", "cma", "--offline", "--budget", "2")


@pytest.mark.parametrize("command", [("live", "--source"), ("analyse",)])
def test_the_jaw_names_the_run_that_it_is_for(refused, command) -> None:
    """Protects who tries the synthetic jaw first: it is no file, and there is a run with its markers."""
    said = refused(*command, "jaw:chewing")
    assert "--source jaw:chewing" in said
    assert "add --run mandible, or --model mandible" in said


def test_commands_ask_for_the_run_that_takes_them(refused, port: int) -> None:
    """Protects who has started nothing, or another program: a device is armed in `rtsim hil`, not in an
    estimator."""
    at = ("--control", f"tcp://127.0.0.1:{port}")
    for command in (("tune",), ("command", "arm"), ("command", "reset")):
        said = refused(*command, *at)
        assert "is a run with a device, as of `rtsim hil`, running?" in said
        assert "estimator" not in said
    assert "is the estimator, such as `rtsim live`, running?" in refused("command", "tare", *at)
    assert "Or is the command meant for `rtsim hil` or `rtsim simulate --live`" in refused(
        "command", "status", *at
    )


def test_a_command_of_another_run_is_told(here, start) -> None:
    """Protects who arms at the address of an estimator: the answer names who takes the command."""
    state = start(
        "hil", "ankle", "--device", "none", "--fast", "--json", "--results-address", "tcp://127.0.0.1:0",
        "--control-address", "tcp://127.0.0.1:0", "--port-address", "tcp://127.0.0.1:0",
    ).state("ready")  # fmt: skip
    done = here("command", "set_method", "method=zero", "--control", state["control"])
    assert done.code == 1
    assert "There is no command 'set_method'" in done.sentence
    assert done.sentence.endswith(
        "the estimator, such as `rtsim live`, takes this command: give the address of its --control"
    )


@pytest.mark.parametrize(("option", "value"), [("--curves", "a.jpg"), ("--parameters", "a.jpg")])
def test_a_figure_is_blamed_by_its_own_option(refused, option: str, value: str) -> None:
    """Protects commands with several figures: the option that is wrong is named."""
    said = refused("fit", "torque-generators", "lift.mcap", option, value)
    assert said.startswith(f"rtsim: {option}: a figure cannot be saved as 'a.jpg'")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--duration", "-1", "--duration: -1.0; allowed: 0 or more"),
        ("--duration", "nan", "--duration: nan; allowed: 0 or more"),
        ("--duration", "1e9", "--duration: 1000000000.0; allowed: 604800 at the most"),
        ("--rate", "1", "--rate: 1.0; allowed: 10 or more"),
    ],
)
def test_a_number_that_cannot_be_is_told_by_its_option(refused, option: str, value: str, words: str) -> None:
    """Protects who has written an option from the names of the schema behind it."""
    assert words in refused("hil", "ankle", option, value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("hil", "ankle", "--urgent", "--priority", "ordinary"), "runs without --urgent"),
        (
            ("hil", "ankle", "--fast", "--priority", "first"),
            "new runs in real time (without --fast)",
        ),
        (("device", "ankle_orthosis", "--urgent", "--priority", "first"), "runs without --urgent"),
    ],
)
def test_priorities_that_contradict_each_other_are_refused(refused, arguments, words: str) -> None:
    """Protects who states a priority from a run that has another one."""
    said = refused(*arguments)
    assert "--priority: the option applies only to" in said
    assert words in said


@pytest.mark.parametrize("mode", ["free", "lockstep"])
def test_torque_never_outlasts_a_model_for_the_sake_of_speed(refused, tmp_path: Path, mode: str) -> None:
    """Protects the wearer: --fast lengthens the life of each torque to a second, where it makes nothing
    faster, and where the markers of a person come live."""
    (tmp_path / "walk.toml").write_text(
        'name = "w"\nsubject = "walker"\nstages = ["kinematics", "gait_phase"]\n'
    )
    text = find_config("worn_ankle", "hil").read_text()
    (tmp_path / "worn.toml").write_text(text.replace('run = "gait"', f'run = "{tmp_path / "walk.toml"}"'))
    worn = (tmp_path / "worn.toml", "--mode", mode, "--from", "tcp://127.0.0.1:7001", "--device", "none")
    assert "--fast: the option applies only to" in refused("hil", *worn, "--fast")


@pytest.mark.parametrize("command", [("live", "--config"), ("estimate", "--config")])
def test_two_equal_ports_are_told_whatever_the_offset(refused, tmp_path: Path, command) -> None:
    """Protects from the search for an offset that makes two of one port, and from what it then says."""
    (tmp_path / "run.toml").write_text(
        'name = "mine"\n[ports]\nresults = "tcp://127.0.0.1:7001"\ncontrol = "tcp://127.0.0.1:7001"\n'
    )
    for offset in ((), ("--port-offset", "10"), ("--port-offset", "auto")):
        said = refused(*command, "run.toml", *offset)
        assert "control: tcp://127.0.0.1:7001 is taken by results already" in said


def test_an_export_names_all_that_it_can_write(refused) -> None:
    """Protects from a list without the pictures, and from a command that only says what it lacks."""
    for arguments, words in (
        (("a.mcap", "a.jpg"), ".csv, .c3d, .foxglove.mcap, .png, .svg, .pdf"),
        (("a.mcap", "a"), ".csv, .c3d, .foxglove.mcap, .png, .svg, .pdf"),
        (("a.mot", "--format", "csv"), "and the file is not a recording (.mcap); allowed: a file (.trc"),
        (("a.mcap",), ".csv, .c3d, .foxglove.mcap, .png, .svg, .pdf"),
        (("a.mcap", "-"), "pictures can only be written into files"),
    ):
        assert words in refused("export", *arguments)


def test_a_library_that_is_not_there_is_not_called_ok(here, monkeypatch) -> None:
    """Protects from "ok" before "cannot be used", and from a failure where only the window lacks it."""
    from rtsim.report import doctor

    monkeypatch.setattr(doctor, "OPTIONAL", (("no_such_window_library", "windows"),))
    done = here("doctor")
    (line,) = (line for line in done.out.splitlines() if "windows" in line)
    assert line.startswith("none windows cannot be used")
    assert done.code == 0


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("prescribed_forces.nope", "prescribed_forces has no label 'nope'; allowed: knee_forwards"),
        ("joint_angles", "joint_angles has no label ''; allowed: shank_tilt, ankle"),
        ("nothing", "no field 'nothing'; allowed: device_angles"),
        ("device_commands.ankle.x", "device_commands has no vector components (parts)"),
    ],
)
def test_a_cost_that_no_frame_has_is_told_at_once(refused, cost: str, words: str) -> None:
    """Protects searches: a wrong name is told with the right ones before any process is started."""
    said = refused(*SEARCH, "--cost", cost)
    assert said.startswith(f"rtsim: --cost {cost}")
    assert words in said


def test_names_of_costs_are_those_of_the_run() -> None:
    """Protects the check: what it knows without a step is what the frames of a run hold."""
    from rtsim.config.load import load_toml
    from rtsim.config.paths import find_config
    from rtsim.config.runs.device_schema import DeviceSpec
    from rtsim.config.runs.hil_schema import HilSpec
    from rtsim.live.hardware.device_loop import fields_of, hil_loop
    from rtsim.live.hardware.in_process import InProcessPort
    from rtsim.live.hardware.limb_parts import simulator_for
    from rtsim.tuning.offline import Measuring, OfflineRuns

    spec = load_toml(find_config("ankle", "hil"), HilSpec)
    output = Measuring(OfflineRuns(spec))
    loop = hil_loop(
        spec,
        simulator_for(spec),
        InProcessPort(load_toml(find_config(spec.device, "devices"), DeviceSpec)),
        output,
    )
    assert loop.course is not None
    assert fields_of(spec) == loop.course.fields.session.fields


CHECKED = {
    "a label of a cost": (
        ANKLE.replace('label = "knee_forwards"', 'label = "knee_forward"'),
        "tuning.costs[0]: the field prescribed_forces has no label 'knee_forward'; allowed: knee_forwards",
    ),
    "a field of a cost": (
        ANKLE.replace('field = "device_commands"', 'field = "device_command"'),
        "tuning.costs[1]: no field 'device_command'",
    ),
    "a reserve of a person": (
        'name = "mine"\nsource = "walker"\nmethod = "zero"\n[recruitment]\nreserves = { thigh_turn = 1.0 }\n',
        "recruitment.reserves: unknown coordinate 'thigh_turn'; allowed: thigh_turn_x",
    ),
    "a reserve of a model": (
        'name = "mine"\nmodel = "finger"\n[recruitment]\nreserves = { flexion = 1.0 }\n',
        "recruitment.reserves: unknown coordinate 'flexion'; allowed: mcp_flexion",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKED)
def test_names_in_a_config_are_checked(refused, tmp_path: Path, name: str) -> None:
    """Protects runs from a wrong name that is found after the first compilation, or never."""
    text, words = CHECKED[name]
    (tmp_path / "mine.toml").write_text(text)
    assert words in refused("check", "mine.toml")


def test_a_reserve_of_either_leg_or_of_both_will_do(here, tmp_path: Path) -> None:
    """Protects runs whose trial decides which legs are solved: the names of one leg are right, or of both."""
    for names in ("{ thigh_turn_x = 1.0 }", "{ thigh_r_turn_x = 1.0, thigh_l_turn_x = 1.0 }"):
        (tmp_path / "mine.toml").write_text(
            f'name = "mine"\nsource = "walker"\nmethod = "zero"\n[recruitment]\nreserves = {names}\n'
        )
        assert here("check", "mine.toml").code == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.csv", "no command of rtsim reads it"), ("a.mot", "--forces"), ("a.trc", "by `rtsim analyse`"),
     ("a.xml", "--ik-setup")],
)  # fmt: skip
def test_what_is_no_config_is_told_by_what_it_is(refused, tmp_path: Path, name: str, words: str) -> None:
    """Protects who checks a table or a recording from a sentence about TOML."""
    (tmp_path / name).write_text("time,a\n0,1\n")
    said = refused("check", name)
    assert "TOML" not in said
    assert "allowed: .toml, .osim, .asf, .lst, .apd" in said
    assert words in said


@pytest.mark.skipif(sys.platform == "win32", reason="it has no pseudo-terminals")
def test_a_terminal_without_utf_8_is_enough(tmp_path: Path) -> None:
    """Protects terminals of former times: what turns while one waits has letters there, and nothing fails for
    a name that the encoding lacks."""
    import pty

    master, slave = pty.openpty()
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1", "TERM": "xterm",
        "COLUMNS": "100",
    }  # fmt: skip
    code = (
        "import time; from rtsim.cli.terminal.console import LastingConsole\n"
        "from rtsim.cli.main import open_closed\n"
        "open_closed()\n"
        "for stderr in (False, True):\n"
        "    with LastingConsole(stderr=stderr).status('starting'): time.sleep(0.3)\n"
        "print('Kn\\u00f6chel \\u0394')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=tmp_path
    )
    os.close(slave)
    said = b""
    try:
        while part := os.read(master, 4096):
            said += part
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(master)
    assert process.wait(120.0) == 0
    assert b"Traceback" not in said
    assert b"starting" in said
    assert b"Kn\xf6chel \\u0394" in said


def test_a_search_of_simulations_has_no_parameters_to_go_back(here, monkeypatch) -> None:
    """Protects who interrupts a search offline: nothing runs whose parameters could be anywhere."""
    from rtsim.tuning.drive import Drive

    def interrupted(self: Drive, budget: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Drive, "run", interrupted)
    done = here(*SEARCH, "--processes", "1")
    assert done.code == 130
    assert "interrupted" in done.err
    assert "parameters go back" not in done.err


def test_speed_is_told_in_one_way(here) -> None:
    """Protects the comparison of runs that are faster and slower than the clock: both by one number."""
    from rtsim.report.tally import pace

    assert (pace(1.26), pace(0.556)) == (
        "1.26 times as fast as real time",
        "0.556 times as fast as real time",
    )
    for command in (("simulate", "impact", "--duration", "0.002"), ("analyse", "walker")):
        assert "times as fast as real time" in here(*command).out


def test_an_offset_avoids_a_port_that_is_given(here, monkeypatch) -> None:
    """Protects --port-offset auto beside one address of the user's own: the others go elsewhere."""
    from rtsim.cli.commands import live

    found = []
    monkeypatch.setattr(live, "check_bound", lambda run, player=False: found.append(run.ports) or stop())
    done = here("live", "--results", "tcp://127.0.0.1:5562", "--port-offset", "auto")
    assert done.code == 130
    assert found[0].results == "tcp://127.0.0.1:5562"
    assert found[0].control != "tcp://127.0.0.1:5562"


def stop() -> None:
    """End a command where it stands."""
    raise KeyboardInterrupt
