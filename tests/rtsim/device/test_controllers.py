"""Controllers of a device: what a config may say, torque in strides that begin well, the user's own."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec import to_builtins

import rtsim.device.controllers
from rtsim.config.controller import MIXED, ControllerSpec
from rtsim.config.controllers import KINDS
from rtsim.config.load import check_record, load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.hil_schema import HilSpec
from rtsim.device import torque_spline
from rtsim.device.controller import AT_REST, Gait, law_of
from rtsim.device.exchange import DeviceExchange
from rtsim.device.stability import check_stable
from rtsim.errors import ConfigError
from streams.codec import decode, encode
from streams.messages import FieldSpec, Session
from tests.rtsim.device.straight import StraightPort, plain_hil
from tests.rtsim.device.test_stability import IDEAL

SPLINE = {"kind": "torque_spline", "peak_Nm": -6.0, "peak_time": 0.5, "rise_time": 0.25, "fall_time": 0.12}
GAIT = {"coordinate": "hip"}
ROOT = Path(__file__).resolve().parents[3]
STANCE = {"stiffness": 20.0, "stance": 0.6}
OWN = {"kind": "python", "stiffness_most_N_m_rad": 0.0, "damping_most_N_m_s_rad": 0.0}
BAD = [
    ({"kind": "magic"}, "controller.kind: 'magic'; allowed: python, stiffness_damping, torque_spline"),
    ({"stifness": 1.0}, r"unknown field `stifness`; allowed: kind, .*neutral_deg"),
    ({"ranges": {"peak_Nm": [0.0, 1.0]}}, "unknown key 'peak_Nm'; allowed: neutral_deg"),
    ({"ranges": {"stiffness_N_m_rad": [-1.0, 1.0]}}, "no bound below zero"),
    ("soft", r"controller: 'soft' is not a table; allowed: a table \[controller\]"),
    (SPLINE | {"rise_time": 0.9, "fall_time": 0.3}, "the largest rise_time and fall_time add up to 1.2"),
    (SPLINE | {"rise_time": 0.0}, "controller.*rise_time|Expected `float` > 0"),
    (SPLINE | {"ranges": {"rise_time": [0.0, 0.3]}}, "rise_time: 0; allowed: 0.01 or more"),
    (SPLINE | {"ranges": {"peak_time": [0.0, 1.5]}}, "peak_time: the range is not within 0 to 1"),
    (
        SPLINE | {"ranges": {"peak_Nm": [-30.0, 0.0]}},
        "peak_Nm can reach 30; allowed: limits.torque_max_Nm = 20",
    ),
    ({"kind": "torque_spline"}, "lacks the required field `peak_Nm`"),
    ({"kind": "python", "function": "a:b"}, "lacks the required field `stiffness_most_N_m_rad`"),
    (OWN | {"function": "nothing"}, "allowed: MODULE:FUNCTION or FILE.py:FUNCTION"),
    (OWN | {"function": "a:b", "gait": True}, "python needs the gait phase to compute torque"),
]


def with_controller(table, gait=GAIT) -> HilSpec:
    """Return the config of the limb with a table [controller]."""
    tables = to_builtins(plain_hil()) | {"controller": table}
    return check_record(tables | ({"gait": gait} if gait else {}), HilSpec, "made up")


def own(tmp_path: Path, text: str, **more) -> HilSpec:
    """Return a config whose controller is a function of a file."""
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return with_controller(OWN | {"function": f"{path}:torque", **more})


@pytest.mark.parametrize(("table", "said"), BAD)
def test_what_cannot_be_is_told(table, said):
    """Protects the author of a config: the key, what is allowed, in one sentence."""
    with pytest.raises(ConfigError, match=said):
        with_controller(table, None if isinstance(table, dict) and table.get("gait") else GAIT)


def test_a_spline_without_a_gait_is_refused():
    """Protects from a device that waits for ever for a phase that nobody tells."""
    with pytest.raises(ConfigError, match=r"torque_spline needs the gait phase .* add \[gait\]"):
        with_controller(SPLINE, None)


@pytest.mark.parametrize("table", [{}, SPLINE, OWN | {"function": "math:hypot", "parameters": {"a": 1.0}}])
def test_a_config_comes_back_from_its_tables(table):
    """Protects options of the command line, which go through the tables: kind and numbers stay."""
    spec = with_controller(table)
    assert check_record(to_builtins(spec), HilSpec, "again") == spec


def test_the_example_is_one():
    """Protects examples/controller.py: a spring in stance alone, with the phase known."""
    spec = with_controller(OWN | {"function": f"{ROOT}/examples/controller.py:torque", "parameters": STANCE})
    law = law_of(spec.controller)
    for gait, wanted in ((Gait(0.3, 1.0, 1.0), -2.0), (Gait(0.8, 1.0, 1.0), 0.0), (Gait(0.3, 0.5, 1.0), 0.0)):
        assert law.torque(STANCE, AT_REST._replace(angle=0.1, gait=gait)) == pytest.approx(wanted)


def test_every_kind_has_its_law():
    """Protects growth: a kind is a module in either folder, of the same name."""
    assert {module.name for module in pkgutil.iter_modules(rtsim.device.controllers.__path__)} == set(KINDS)
    assert load_toml(find_config("ankle", "hil"), HilSpec).controller.kind == "stiffness_damping"


def walked(law, values, confidence, n_stride=4, armed=lambda tick: True):
    """Return phase and torque of every tick over some strides of 100 ticks at a confidence of the tick."""
    found = []
    for tick in range(100 * n_stride):
        phase = 0.01 * (tick % 100)
        gait = Gait(phase, confidence(tick), 1.0)
        seen = AT_REST._replace(tick=tick, gait=gait, armed=armed(tick))
        found.append((phase, law.torque(values, seen)))
    return found


def test_torque_begins_with_a_stride():
    """Protects the wearer: armed, or sure again, within a stride, there is torque in the next one."""
    spec = with_controller(SPLINE).controller
    told = walked(law_of(spec), spec.values, lambda tick: 0.9, armed=lambda tick: tick >= 130)
    assert all(torque == 0.0 for _, torque in told[:200])
    assert min(torque for _, torque in told[200:]) == pytest.approx(-6.0)
    for phase, torque in told[200:]:
        assert torque == torque_spline.torque(phase, -6.0, 0.5, 0.25, 0.12)
    doubt = walked(law_of(spec), spec.values, lambda tick: 0.3 if 140 <= tick < 145 else 0.9)
    assert doubt[139][1] != 0.0
    assert all(torque == 0.0 for _, torque in doubt[140:200])
    assert doubt[250][1] != 0.0


def test_a_phase_that_nobody_knows_has_no_torque():
    """Protects from a number made of none."""
    spec = with_controller(SPLINE).controller
    law = law_of(spec)
    walked(law, spec.values, lambda tick: 1.0, 1)
    assert law.torque(spec.values, AT_REST._replace(armed=True)) == 0.0


def test_a_function_of_the_user_sees_and_says(tmp_path):
    """Protects the example of docs/controllers.md: what is seen, parameters that can be tuned, a torque."""
    text = (
        "def torque(seen, parameters):\n"
        "    if seen.tick < 0:\n        return 0\n"
        "    return -parameters['gain'] * seen.angle + seen.gait.confidence\n"
    )
    spec = own(tmp_path, text, parameters={"gain": 2.0}, ranges={"gain": [0.0, 3.0]})
    assert spec.controller.values == {"gain": 2.0}
    law = law_of(spec.controller)
    seen = AT_REST._replace(tick=0, angle=0.5, gait=Gait(0.1, 0.25, 1.0))
    assert law.torque({"gain": 2.0}, seen) == pytest.approx(-0.75)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def other(seen, parameters): return 0.0\n", "has no function 'torque'"),
        ("torque = 3\n", "has no function 'torque'"),
        ("def torque(seen): return 0.0\n", "failed .TypeError.* when the controller was tried"),
        ("def torque(seen, parameters): return None\n", "returned None, which is not a number"),
        ("def torque(seen, parameters): return float('nan')\n", "returned nan, which is not a finite torque"),
        ("def torque(seen, parameters): return True\n", "returned True, which is not a number"),
        ("import nowhere_to_be_found\n", "cannot be loaded .ModuleNotFoundError"),
        ("def torque(:\n", "cannot be loaded .SyntaxError"),
    ],
)
def test_a_function_that_cannot_be_is_told_before_the_start(tmp_path, text, said):
    """Protects the wearer and the author: what is wrong shows before anything runs."""
    with pytest.raises(ConfigError, match=said):
        law_of(own(tmp_path, text).controller)
    with pytest.raises(ConfigError, match=r"no such file 'nowhere.py'"):
        law_of(with_controller(OWN | {"function": "nowhere.py:torque"}).controller)


@pytest.mark.parametrize(
    "wrong", ["1 / 0", "float('inf')", "'much'", "10**400", "10**5000", "__import__('sys').exit()"]
)
def test_what_fails_while_it_runs_latches(tmp_path, wrong):
    """Protects the wearer: an exception, or no number, is a fault with zero torque until armed again."""
    spec = own(
        tmp_path, f"def torque(seen, parameters):\n    return {wrong} if 20 <= seen.tick < 25 else 1.0\n"
    )
    port = StraightPort(IDEAL)
    exchange = DeviceExchange(spec, port, "session")
    port.hello()
    exchange.collect()
    torques = []
    for tick in range(60):
        exchange.begin_tick(0)
        fault = exchange.fault()
        if tick == 3:
            assert not fault
            exchange.arming.arm("by the test")
        if tick in (22, 30):
            assert ("the controller computed no torque" in fault) == (tick == 22)
        exchange.arming.tick(exchange.tick_s)
        output = exchange.output(0.001 * tick, 0.0, 0.0)
        torques.append((output.torque[0], output.armed))
        port.send(output)
        exchange.collect()
    assert torques[19] == (1.0, True)
    assert all(told == (0.0, False) for told in torques[20:])
    assert exchange.arming.state == "fault"
    assert "computed no torque" in exchange.arming.reason


class RunEndsError(BaseException):
    """What no part of a run catches, as an interrupt from the keyboard."""


class EndingLaw:
    """A control law that ends the run in its third tick, and whenever it is called after that."""

    n_call = 0

    def torque(self, values, seen):
        self.n_call += 1
        if self.n_call > 2:
            raise RunEndsError
        return 1.0


def test_the_last_output_does_not_need_the_law(tmp_path):
    """Protects the wearer: also when the law itself ends the run, the last output is zero and disarmed."""
    exchange = DeviceExchange(
        own(tmp_path, "def torque(*seen): return 0.0\n"), StraightPort(IDEAL), "session"
    )
    exchange.law = EndingLaw()
    exchange.arming.arm("by the test")
    exchange.arming.tick(10.0)
    sent = [exchange.output(0.0, 0.0, 0.0) for _ in range(2)]
    assert sent[-1].armed
    assert sent[-1].torque[0] > 0.0
    with pytest.raises(RunEndsError):
        exchange.output(0.0, 0.0, 0.0)
    last = exchange.last_output(0.0)
    assert (last.torque, last.armed, last.seq) == ([0.0], False, 2)
    assert (exchange.limit.torque, exchange.port.keeps) == (0.0, False)


def test_a_file_that_exits_is_told_before_the_start(tmp_path):
    """Protects the author: a file that calls `sys.exit` is refused in a sentence, and not by silence."""
    with pytest.raises(ConfigError, match=r"cannot be loaded .SystemExit: 3"):
        law_of(own(tmp_path, "import sys\nsys.exit(3)\n").controller)


def test_a_spline_is_tuned_while_it_runs():
    """Protects `rtsim tune`: the spline's numbers go along a ramp within their ranges, no others."""
    spec = with_controller(SPLINE | {"ranges": {"peak_Nm": [-10.0, 0.0]}, "change_s": 0.1})
    tuning = DeviceExchange(spec, StraightPort(IDEAL), "session").tuning
    assert "allowed: -10 to 0" in tuning.refusal("set", {"peak_Nm": -11.0})
    assert "'rise_time' cannot be set" in tuning.refusal("set", {"rise_time": 0.2})
    tuning.apply("set", {"peak_Nm": -8.0})
    values = []
    for _ in range(12):
        tuning.tick(0.01)
        values.append(tuning.values["peak_Nm"])
    assert values[0] == pytest.approx(-6.2)
    assert values[-1] == -8.0


def test_a_stiff_function_is_refused_with_its_limit(tmp_path):
    """Protects the stability limit: it counts what a function states, and a spline has no stiffness."""
    spec = own(tmp_path, "def torque(seen, parameters): return 0.0\n", stiffness_most_N_m_rad=1000.0)
    with pytest.raises(ConfigError, match=r"controller.stiffness_most_N_m_rad of at most"):
        check_stable(spec, IDEAL, 0.05)
    assert check_stable(with_controller(SPLINE), IDEAL, 0.05) == 0.0


class Kind(ControllerSpec, frozen=True, tag="of one's own"):
    """A kind of controller whose parameters have units of many characters."""

    UNITS: ClassVar[dict[str, str]] = {f"gain_{k}": f"N m s^{k}/rad^{k}" for k in range(6)}


def test_parameters_have_a_unit_that_a_descriptor_takes():
    """Protects recordings, monitor and tuning of controllers with many parameters: who receives the results
    refuses a unit of more than 32 characters, and with it all frames."""
    many = with_controller(OWN | {"function": "a:b", "parameters": {f"p{k}": 1.0 for k in range(12)}})
    units = [spec.unit_of_all for spec in (many.controller, with_controller(SPLINE).controller, Kind())]
    assert units == ["1", "N m, 1, 1, 1", MIXED]
    assert with_controller({}).controller.unit_of_all.startswith("deg, N m/rad, ")
    for unit in units:
        spec = FieldSpec("device_parameters", (1,), unit)
        session = Session(
            session="0123456789abcdef", stream="result", t_start=0, rate=100.0, fields=(spec,), meta={}
        )
        assert decode(encode(session)) == session
