"""What is asked of a device between two ticks: torque ends whatever else was asked, and arms once at most."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rtsim.config.load import load_toml
from rtsim.config.paths import find_config
from rtsim.config.runs.device_schema import DeviceSpec
from rtsim.config.runs.hil_schema import Controller
from rtsim.device.arming import BY_COMMAND, EMERGENCY
from rtsim.device.exchange import DeviceExchange
from rtsim.device.requests import CommandQueue
from rtsim.models.model import build
from rtsim.simulation.simulator import Simulator
from rtsim.stages.device.device_element import with_device
from rtsim.stages.device.exchange import DeviceTorque, TorqueCommand
from streams.codec import FieldLayout
from streams.messages import Session
from streams.receiving.ring import ReceivedFrame
from tests.rtsim.device.straight import StraightPort, load_limb, plain_hil

IDEAL = load_toml(find_config("ideal_orthosis", "devices"), DeviceSpec)
READY = 5


class Stages:
    """The stages of the exchange about a hinge that nobody moves, and the commands as a client gives them."""

    def __init__(self, arm_s: float | None = None) -> None:
        model = with_device(load_limb(), "joint")
        limb = Simulator(build(model), model.simulation)
        self.port = StraightPort(IDEAL)
        spec = plain_hil(controller=Controller(stiffness_N_m_rad=50.0))
        self.exchange = DeviceExchange(spec, self.port, "0123456789abcdef")
        self.torque = DeviceTorque(self.exchange, limb, arm_s)
        self.command = TorqueCommand(self.exchange, limb)
        self.heard: list[str] = []
        self.torque.publish = lambda message: self.heard.append(message.name)
        self.command.say = self.heard.append
        session = Session(session="0" * 16, stream="markers", t_start=0, rate=1000.0, fields=())
        self.frame = ReceivedFrame(session, FieldLayout(session))
        self.port.hello()

    def tick(self, n: int = 1) -> str:
        """Go through some ticks; the state then."""
        for _ in range(n):
            self.exchange.await_answer(0)
            self.exchange.begin_tick(0)
            self.torque.run(self.frame)
            self.command.run(self.frame)
        return self.exchange.arming.state

    def ask(self, *names: str) -> None:
        """Give commands, as the control server's thread does."""
        for name in names:
            order = self.torque.orders[name]
            ok, _ = order.answer({})
            if ok:
                order.apply({})


@pytest.mark.parametrize("ending", ["disarm", EMERGENCY, "pause", "reset"])
@pytest.mark.parametrize("first", [True, False])
def test_what_ends_torque_wins_over_arm_in_its_tick(ending: str, first: bool) -> None:
    """Protects whoever pressed: an arm before it, or after it, in the same tick does not count; a later one
    is a request of its own."""
    stages = Stages()
    stages.tick(READY)
    stages.ask(*(("arm", ending, "arm") if first else (ending, "arm")))
    state = stages.tick(3)
    assert state == ("fault" if ending == EMERGENCY else "disarmed")
    assert "arm" not in stages.heard  # nor does a record have it
    assert any("in the same time step" in told for told in stages.heard)
    if ending == "pause":
        stages.ask("resume")
    stages.tick(200)
    stages.ask("arm", "arm", "arm")
    assert stages.tick() == "ramping"
    assert stages.heard.count("arm") == 1


@pytest.mark.parametrize("ending", ["disarm", EMERGENCY, "pause", "reset"])
def test_what_ends_torque_ends_an_arm_to_come(ending: str) -> None:
    """Protects whoever disarmed: the run does not arm by itself at its time any more, and says so."""
    stages = Stages(arm_s=0.05)
    assert stages.tick(20) == "disarmed"
    stages.ask(ending)
    stages.tick(5)
    if ending == "pause":
        stages.ask("resume")
    assert stages.tick(200) == ("fault" if ending == EMERGENCY else "disarmed")
    assert any("will no longer arm automatically" in told for told in stages.heard)


def test_a_fault_ends_an_arm_to_come() -> None:
    """Protects the wearer: who armed by hand and fell, or whose device spoke up meanwhile, is not armed by
    itself; before anything was ready it waits."""
    stages = Stages(arm_s=0.05)
    stages.tick(READY)
    stages.ask("arm")
    assert stages.tick(5) == "ramping"
    stages.exchange.arming.fault("something")
    assert stages.tick(200) == "fault"
    stages = Stages(arm_s=0.05)
    stages.tick(READY)
    honest = stages.port.forge
    stages.port.forge = lambda message: replace(message, state="falling", fault="too hot")
    stages.tick(3)
    stages.port.forge = honest
    assert stages.tick(200) == "disarmed"
    words = "no longer arm automatically: the device is ending its torque by itself (too hot)"
    assert any(words in told for told in stages.heard)
    stages = Stages(arm_s=0.05)
    stages.port.forge = lambda message: replace(message, state="falling", fault="too hot")
    assert stages.tick(100) == "disarmed"
    stages.port.forge = honest
    assert stages.tick(100) == "armed"


def test_it_arms_by_itself_at_its_tick() -> None:
    """Protects runs that are repeated: in lockstep the tick of --arm follows from the rate alone."""
    stages = Stages(arm_s=0.05)
    stages.tick(50)
    assert "arm" not in stages.heard
    stages.tick()
    assert "arm" in stages.heard


def test_floods_of_commands_wait_in_bounded_room() -> None:
    """Protects memory while no tick comes: of each command that arms or ends torque the newest waits, and of
    disarm the first, too, so that who disarms beside a program is noticed."""
    asked = CommandQueue()
    for k in range(10_000):
        asked.put((EMERGENCY, "disarm", "arm", "pause", "reset")[k % 5], {"k": k})
    assert asked.ends
    assert [args["k"] for _, args in asked.take()] == [1, 9995, 9996, 9997, 9998, 9999]
    assert not asked.ends
    assert asked.take() == []


def test_between_two_frames_nothing_rises() -> None:
    """Protects the wearer while frames are silent: what is sent between them is zero, or nothing at all."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    stages.tick(3)
    n, share = len(stages.port.outputs), stages.exchange.arming.share
    for _ in range(10):
        stages.exchange.collect()
        stages.torque.apply("")
        stages.command.between()
    assert len(stages.port.outputs) == n
    assert stages.exchange.arming.share == share
    stages.ask("disarm")
    stages.torque.apply("")
    stages.command.between()
    assert (stages.port.outputs[-1].armed, stages.port.outputs[-1].torque) == (False, [0.0])


@pytest.mark.parametrize("under_way", [False, True])
def test_nothing_arms_while_the_limb_is_about_to_go_back(under_way: bool) -> None:
    """Protects from a jump of the limb under torque: between a reset and its jump `arm` is refused, and
    what was under way is not obeyed."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    assert stages.tick(30) == "armed"
    stages.port.forge = lambda message: replace(message, state="armed", actuator=[])  # it takes its time
    stages.ask("reset")
    stages.tick()
    if under_way:
        stages.torque.ask("arm", {})  # it was answered before
    else:
        stages.ask("arm")
    assert stages.tick(3) == "disarmed"
    assert "about to return to its start" in stages.torque.orders["arm"].answer({})[1]
    assert not stages.port.outputs[-1].armed


@pytest.mark.parametrize("ending", ["disarm", EMERGENCY, "pause", "reset"])
def test_a_program_does_not_arm_what_a_person_has_ended_meanwhile(ending: str) -> None:
    """Protects whoever presses while a program tries zero torque: its own `arm` afterwards is refused, when
    it is given and in the tick in which it is obeyed."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    stages.tick(30)
    stages.ask("disarm")
    stages.tick(30)
    order, after = stages.torque.orders["arm"], {"after": BY_COMMAND}
    assert order.answer(after)[0]  # in the same tick as what follows, and in a later one
    stages.ask(ending)
    stages.tick()
    stages.torque.ask("arm", after)
    stages.tick(200)
    if ending == "pause":
        stages.ask("resume")
        stages.tick(2)
    ok, text = order.answer(after)
    assert (ok, text.startswith("Not armed: the arm command names the state ")) == (False, True)
    assert stages.tick(20) in ("disarmed", "fault")
    stages.ask("arm")
    assert stages.tick() == "ramping"


@pytest.mark.parametrize("ending", ["disarm", EMERGENCY, "pause", "reset"])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_program_notices_who_ends_torque_in_its_own_tick(ending: str, is_first: bool) -> None:
    """Protects whoever ends torque in the very tick in which a program disarms for a trial: the program does
    not arm again, whichever of them came first."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    stages.tick(30)
    stages.ask(*((ending, "disarm") if is_first else ("disarm", ending)))
    stages.tick(30)
    if ending == "pause":
        stages.ask("resume")
        stages.tick(2)
    stages.torque.ask("arm", {"after": BY_COMMAND})
    assert stages.tick(20) in ("disarmed", "fault")
    assert not stages.torque.orders["arm"].answer({"after": BY_COMMAND})[0]


def test_a_program_arms_again_what_it_has_disarmed() -> None:
    """Protects trials with zero torque: where nobody else did anything the run goes on as it was."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    stages.tick(30)
    stages.ask("disarm")
    stages.tick(30)
    assert stages.torque.orders["arm"].answer({"after": BY_COMMAND})[0]
    assert stages.tick(2) == "ramping"


def test_a_device_that_tells_less_once_it_is_armed_is_told_of() -> None:
    """Protects whoever relies on the watch over the actuator: that it ends is said once for each arming, also
    where the device leaves the torque out only afterwards, or now and then."""
    stages = Stages()
    stages.tick(READY)
    stages.ask("arm")
    stages.tick(30)
    words = "does not report its actuator's torque"
    assert not any(words in told for told in stages.heard)
    stages.port.forge = lambda m: replace(m, actuator=[] if m.seq % 3 else m.actuator)
    assert stages.tick(30) == "armed"
    assert sum(words in told for told in stages.heard) == 1
    stages.ask("disarm")
    stages.tick(30)
    stages.ask("arm")
    stages.tick(30)
    assert sum(words in told for told in stages.heard) == 2
